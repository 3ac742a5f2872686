#!/usr/bin/env bash
# Unpacks the Debian files that the build needs and this machine lacks below .deps. Nothing is installed, no root is needed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
deps=$root/.deps
multiarch=$(gcc -print-multiarch)

# What shows that the machine has it already, then the packages that bring it.
wanted="
/usr/include/nlohmann/json.hpp              nlohmann-json3-dev
/usr/include/CLI/CLI.hpp                    libcli11-dev
/usr/include/zlib.h                         zlib1g-dev
/usr/lib/$multiarch/libgtest.a              libgtest-dev
/usr/bin/abidw                              abigail-tools libabigail0
/usr/lib/$multiarch/libdw.so.1              libdw1
/usr/lib/$multiarch/libelf.so.1             libelf1
/usr/lib/$multiarch/libctf.so.0             libctf0
/usr/lib/$multiarch/libxml2.so.2            libxml2 libicu72
/usr/share/sounds/alsa/Front_Center.wav     alsa-utils
"
packages=()
while read -r probe names; do
  [ -z "$probe" ] || [ -e "$probe" ] || packages+=($names)  # several words on purpose
done <<< "$wanted"

mkdir -p "$deps/.stamps"
if [ ${#packages[@]} -gt 0 ]; then
  echo "unpacking into .deps: ${packages[*]}"
  "$root/tools/setup/unpack.sh" "$deps" "${packages[@]}"
  # zlib1g-dev links to the library by absolute path; it may lie elsewhere.
  link=$deps/usr/lib/$multiarch/libz.so
  if [ -L "$link" ] && [ ! -e "$link" ]; then ln -sf "$(gcc -print-file-name=libz.so.1)" "$link"; fi
fi

# Unpacked programs do not find unpacked libraries by themselves.
mkdir -p "$deps/bin"
for tool in abidw abidiff; do
  [ -x "$deps/usr/bin/$tool" ] || continue
  cat > "$deps/bin/$tool" <<EOF
#!/bin/sh
here=\$(CDPATH='' cd -- "\$(dirname -- "\$0")" && pwd)
export LD_LIBRARY_PATH="\$here/../usr/lib/$multiarch\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
exec "\$here/../usr/bin/$tool" "\$@"
EOF
  chmod +x "$deps/bin/$tool"
done

# Where examples/vad/prepare.py looks for the recordings.
sounds=/usr/share/sounds/alsa
[ -e $sounds/Front_Center.wav ] || sounds=..$sounds
mkdir -p "$deps/vad"
[ -e "$deps/vad/alsa" ] || ln -s "$sounds" "$deps/vad/alsa"

touch "$deps/.stamps/debs"
