#!/usr/bin/env bash
# Installs into an empty folder, moves it, then builds and runs a program against it as a user would.
set -euo pipefail
way=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$CMAKE" --install "$STATOR_BUILD_DIR" --prefix "$work/first" > "$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"  # nothing installed may know where it was put
prefix=$work/prefix

if leaked=$(grep -rlF "$work/first" "$prefix" --include='*.pc' --include='*.cmake'); then
  echo "FAIL: absolute paths in $leaked"
  exit 1
fi

case $way in
  cmake)
    "$CMAKE" -S "$here/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" > "$work/log" 2>&1 &&
      "$CMAKE" --build "$work/build" >> "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    "$work/build/consumer"
    "$work/build/consumer_cpp"
    ;;
  pkg_config)
    pc=$(dirname "$(find "$prefix" -name stator.pc)")
    export PKG_CONFIG_PATH=$pc
    # shellcheck disable=SC2046
    "$CC" -std=c11 -Wall -Wextra -Werror "$here/consumer/consumer.c" -o "$work/consumer" \
      $("$PKG_CONFIG" --cflags --libs stator) -Wl,-rpath,"$("$PKG_CONFIG" --variable=libdir stator)"
    "$work/consumer"
    ;;
  *) echo "unknown way: $way"; exit 2 ;;
esac

# The installed command finds its library beside it.
if [ -x "$prefix/bin/stator" ]; then "$prefix/bin/stator" --help > "$work/help"; fi
