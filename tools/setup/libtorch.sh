#!/usr/bin/env bash
# Sees to it that there is a LibTorch: the user's, the active Python's, else the minimal set in .venv.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ -n "${STATOR_TORCH_HOME:-}" ]; then
  exec "$root/packaging/libtorch/locate.sh" > /dev/null  # named by the user: right or an error, never replaced
fi
if "$root/packaging/libtorch/locate.sh" --given > /dev/null; then exit 0; fi
stamp=$root/.venv/.stamps/libtorch
if [ ! "$stamp" -nt "$root/requirements/libtorch.txt" ]; then
  echo "installing LibTorch into .venv"
  "$root/tools/setup/venv.sh" libtorch --no-deps
fi
"$root/packaging/libtorch/locate.sh" > /dev/null
