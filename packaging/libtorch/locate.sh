#!/bin/sh
# Prints the LibTorch folder (the one with lib/ and include/) that Stator is built with and run on.
#
#   locate.sh            user's STATOR_TORCH_HOME, else the active Python's torch, else the checkout's .venv
#   locate.sh --given    the same without .venv: what exists before make installs anything
#   locate.sh --version  prints "MAJOR.MINOR.PATCH" of the folder instead
#
# Nothing is imported: the CUDA wheel of torch loads on machines without CUDA only after gigabytes of dependencies.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
supported=$(tr '\n' ' ' < "$here/supported" | sed 's/ *$//')

use_venv=yes
print=home
for argument in "$@"; do
  case $argument in
    --given) use_venv=no ;;
    --version) print=version ;;
    *) echo "usage: locate.sh [--given] [--version]" >&2; exit 2 ;;
  esac
done

version_of() {
  if [ -f "$1/version.py" ]; then
    sed -n "s/^__version__ *= *['\"]\([0-9.]*\).*/\1/p" "$1/version.py" | head -n 1
  elif [ -f "$1/build-version" ]; then
    sed -n '1s/^\([0-9.]*\).*/\1/p' "$1/build-version"
  else
    for header in "$1/include/torch/headeronly/version.h" "$1/include/torch/csrc/api/include/torch/version.h"; do
      [ -f "$header" ] || continue
      found=$(sed -n 's/^#define TORCH_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\)$/\2/p' "$header" | paste -sd . -)
      [ -z "$found" ] || { echo "$found"; return; }
    done
  fi
}

is_supported() {
  minor=$(echo "$1" | cut -d . -f 1,2)
  for s in $supported; do [ "$s" != "$minor" ] || return 0; done
  return 1
}

# Prints why the folder will not do, or nothing.
complaint() {
  for file in lib/libtorch_cpu.so lib/libc10.so include/ATen/ATen.h include/torch/csrc/api/include/torch/torch.h; do
    [ -f "$1/$file" ] || { echo "$1 is no LibTorch folder: $file is missing"; return; }
  done
  version=$(version_of "$1")
  [ -n "$version" ] || { echo "$1: cannot tell its LibTorch version"; return; }
  is_supported "$version" || echo "torch $version in $1 is not supported (supported: $supported)"
}

answer() {
  if [ "$print" = version ]; then version_of "$1"; else echo "$1"; fi
  exit 0
}

if [ -n "${STATOR_TORCH_HOME:-}" ]; then
  [ -d "$STATOR_TORCH_HOME" ] || { echo "STATOR_TORCH_HOME=$STATOR_TORCH_HOME: no such folder" >&2; exit 1; }
  home=$(CDPATH='' cd -- "$STATOR_TORCH_HOME" && pwd)
  why=$(complaint "$home")
  [ -z "$why" ] || { echo "STATOR_TORCH_HOME: $why" >&2; exit 1; }
  answer "$home"
fi

torch_of_python() {
  "$1" - 2> /dev/null <<'PYTHON' || true
import importlib.util
spec = importlib.util.find_spec("torch")
if spec and spec.submodule_search_locations:
    print(list(spec.submodule_search_locations)[0])
PYTHON
}

consider() {
  home=$(torch_of_python "$1")
  [ -n "$home" ] || return 0
  why=$(complaint "$home")
  if [ -z "$why" ]; then answer "$home"; fi
  echo "skipped: $why" >&2
}

if [ -n "${VIRTUAL_ENV:-}" ]; then
  [ ! -x "$VIRTUAL_ENV/bin/python" ] || consider "$VIRTUAL_ENV/bin/python"
elif command -v python3 > /dev/null; then
  consider python3
fi
if [ "$use_venv" = yes ] && [ -x "$root/.venv/bin/python" ]; then consider "$root/.venv/bin/python"; fi

[ "$use_venv" = no ] || echo "no LibTorch $supported found: set STATOR_TORCH_HOME, or run make, which installs one into .venv" >&2
exit 1
