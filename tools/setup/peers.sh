#!/usr/bin/env bash
# Makes .deps/peers: the environment of make bench. It sees what .venv holds and adds the peers, so that .venv stays as it is.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
peers=$root/.deps/peers
packages() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
[ -x "$peers/bin/python" ] || "$root/.venv/bin/python" -m venv "$peers"
packages "$root/.venv/bin/python" > "$(packages "$peers/bin/python")/stator.pth"
pip=("$peers/bin/python" -m pip install --disable-pip-version-check --quiet)
"${pip[@]}" -r "$root/requirements/bench.txt"
# Its own list of dependencies asks for far more, and for other versions than torch's.
"${pip[@]}" --no-deps -r "$root/requirements/bench_executorch.txt" ||
  echo "peers.sh: ExecuTorch does not install here; the benchmark goes on without it" >&2
mkdir -p "$root/.deps/.stamps"
touch "$root/.deps/.stamps/peers"
