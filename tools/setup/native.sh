#!/usr/bin/env bash
# native.sh PRESET BUILD_DIR [JOBS] [TARGET...]: configures where cmake has not run yet, or ran with another LibTorch or
# preset, and builds. One at a time per folder: two ninjas overwrite each other's precompiled header.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
preset=$1 build=$2 jobs=${3:-$(nproc)}
shift $(($# < 3 ? $# : 3))
home=$(packaging/libtorch/locate.sh 2> /dev/null) || packaging/libtorch/locate.sh
mkdir -p "$build"
exec 9> "$build/.lock"
if ! flock -n 9; then
  echo "waiting for another build in $build"
  flock 9
fi
if [ ! "$build/build.ninja" -nt CMakePresets.json ] || [ "$(cat "$build/torch-home" 2> /dev/null)" != "$home" ]; then
  cmake --preset "$preset" 9>&-
fi
cmake --build "$build" -j "$jobs" ${1:+--target "$@"} 9>&-
