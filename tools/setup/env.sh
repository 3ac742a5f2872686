#!/usr/bin/env bash
# env.sh [--build DIR] COMMAND...: runs a command as make runs it, for example
#
#   cd bindings/go/stator && ../../../tools/setup/env.sh go test ./...
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$root/build
if [ "${1:-}" = --build ]; then
  build=$(cd "$2" && pwd)
  shift 2
fi
[ $# -gt 0 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }

if [ -f "$build/torch-home" ]; then
  STATOR_TORCH_HOME=$(cat "$build/torch-home")
else
  STATOR_TORCH_HOME=$("$root/packaging/libtorch/locate.sh")
fi
export STATOR_TORCH_HOME
export STATOR_TEST_MODELS=$build/models
export STATOR_LIBRARY_DIR=$build/lib
export STATOR_INCLUDE_DIR=$root/capi/include
export STATOR_SOURCE_DIR=$root STATOR_BUILD_DIR=$build
export PKG_CONFIG_PATH=$build/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PATH=$PATH:$root/.deps/bin
# Go's cache does not see headers outside the module; a changed one must not give a stale result.
hash=$(cat "$root"/capi/include/stator/*.h "$build/pkgconfig/stator.pc" 2> /dev/null | sha256sum | cut -c 1-16)
export CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} -DSTATOR_HEADER_HASH=0x$hash"
export GOTOOLCHAIN=local
export LSAN_OPTIONS=suppressions=$root/tools/setup/sanitizers/lsan.supp:print_suppressions=0
exec "$@"
