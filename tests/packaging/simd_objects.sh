#!/usr/bin/env bash
# Objects compiled for a CPU capability define nothing that the linker could take for the rest of the program too: every function that it
# may merge (weak, unique) lives in a namespace of the capability. Objects are arguments, or lists of CMake's in them.
set -euo pipefail
failed=0

complain() { echo "FAIL: $*"; failed=1; }

IFS=';' read -ra objects <<< "$(IFS=';'; echo "$*")"
((${#objects[@]} > 0)) || complain "no object given"
for object in "${objects[@]}"; do
  symbols=$(nm -C --defined-only "$object")
  [[ $symbols =~ ::(DEFAULT|AVX2|AVX512):: ]] || complain "$object has nothing of a capability"
  other=$(awk '$2 ~ /^[WVu]$/' <<< "$symbols" | grep -Ev '(at::vec|stator)::(DEFAULT|AVX2|AVX512)::' || true)
  [ -z "$other" ] || complain "$object defines what others may share:"$'\n'"$other"
done
exit $failed
