#!/usr/bin/env bash
# tidy.sh BUILD_DIR [FILE...]: clang-tidy over our C++ files, or over those named.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
build=$1
shift
[ $# -gt 0 ] || mapfile -t files < <(find cpp capi cli -name '*.cpp')
[ $# -eq 0 ] || files=("$@")

# File by file. clang cannot read g++'s precompiled header and needs none of its flags.
cmake --preset default -B "$build/tidy" -DSTATOR_UNITY_BUILD=OFF > /dev/null
sed -E -i 's/-include [^ "]*cmake_pch\.hxx//g; s/-Winvalid-pch|-fpch-preprocess//g' "$build/tidy/compile_commands.json"
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" .venv/bin/clang-tidy -p "$build/tidy" --quiet --extra-arg=-include --extra-arg="$root/cpp/precompiled.h"
