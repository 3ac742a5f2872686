#!/usr/bin/env bash
# What the two libraries export, and which libraries they ask the loader for.
set -euo pipefail
front=$1 core=$2
failed=0

complain() { echo "FAIL: $*"; failed=1; }

exported() { nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }'; }
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

check_exports() {  # library, pattern
  local symbols other
  symbols=$(exported "$1")
  [ -n "$symbols" ] || complain "$1 exports nothing"
  other=$(grep -Ev "$2" <<< "$symbols" || true)
  [ -z "$other" ] || complain "$1 exports what is not ours:"$'\n'"$(head -n 20 <<< "$other")"
}

check_needed() {  # library, allowed
  local other
  other=$(needed "$1" | grep -Ev "$2" || true)
  [ -z "$other" ] || complain "$1 needs:"$'\n'"$other"
}

runtime='libstdc\+\+\.so\.6|libgcc_s\.so\.1|libm\.so\.6|libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux.*'
check_exports "$front" '^stator_'
check_exports "$core" '^stator_core_'
check_needed "$front" "^($runtime)\$"
check_needed "$core" "^(libtorch_cpu\.so|libc10\.so|libz\.so\.1|$runtime)\$"
for library in "$front" "$core"; do
  readelf -d "$library" | grep -q 'FLAGS_1.*NODELETE' || complain "$library can be unloaded"
  ! readelf -d "$library" | grep -E 'RPATH|RUNPATH' || complain "$library has a run path"
done
exit $failed
