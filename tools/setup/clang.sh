#!/usr/bin/env bash
# Unpacks a clang with libFuzzer and the sanitizers' runtimes below .deps/clang: GCC has no libFuzzer. Only make fuzz needs it.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
version=19
folder=$root/.deps/clang
icu=$(apt-cache depends libxml2 | sed -n 's/ *Depends: \(libicu[0-9]*\)/\1/p')
"$root/tools/setup/unpack.sh" "$folder" clang-$version libclang-common-$version-dev libclang-rt-$version-dev \
  libclang-cpp$version libllvm$version libedit2 libbsd0 libmd0 libtinfo6 libz3-4 libxml2 $icu
multiarch=$(gcc -print-multiarch)
for name in clang clang++; do
  mode=$([ $name = clang ] && echo gcc || echo g++)
  cat > "$folder/$name" <<EOF
#!/bin/sh
here=\$(CDPATH='' cd -- "\$(dirname -- "\$0")" && pwd)
export LD_LIBRARY_PATH="\$here/usr/lib/$multiarch:\$here/usr/lib/llvm-$version/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
exec "\$here/usr/lib/llvm-$version/bin/clang" --driver-mode=$mode "\$@"
EOF
  chmod +x "$folder/$name"
  "$folder/$name" --version > /dev/null
done
mkdir -p "$root/.deps/.stamps"
touch "$root/.deps/.stamps/clang"
