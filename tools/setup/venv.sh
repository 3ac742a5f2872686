#!/usr/bin/env bash
# venv.sh NAME [pip options]: installs requirements/NAME.txt (or the demo's own list) into .venv (made if need be) and leaves .venv/.stamps/NAME.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
name=$1
shift
list=$root/requirements/$name.txt
[ "$name" != demo ] || list=$root/examples/vad/requirements.txt
if [ ! -x "$root/.venv/bin/python" ]; then
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "python3 is older than 3.10" >&2; exit 1; }
  python3 -m venv "$root/.venv"
fi
"$root/.venv/bin/python" -m pip install --disable-pip-version-check --quiet "$@" -r "$list"
mkdir -p "$root/.venv/.stamps"
touch "$root/.venv/.stamps/$name"
