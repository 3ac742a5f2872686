#!/usr/bin/env bash
# run.sh [--rounds N]: what `make demo` runs once everything is built: the model on a real recording, from C, Java, Go and Python.
#
# The programs take turns, N rounds (3 without the option), so that a busy minute of the machine does not fall on one language alone.
# From the environment, each with a default: PYTHON, BUILD (the build folder), STATOR_TORCH_HOME.
set -euo pipefail
rounds=3
case ${1:-} in
  '') ;;
  --rounds) rounds=${2:?--rounds needs a number} ;;
  *) rounds= ;;
esac
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(realpath "${BUILD:-build}")
if [ -z "${STATOR_BUILD_DIR:-}" ]; then exec tools/setup/env.sh --build "$build" examples/vad/run.sh --rounds "$rounds"; fi

python=${PYTHON:-.venv/bin/python}
out=$build/demo
vad=examples/vad
jars="bindings/java/target/*:bindings/java/target/lib/*"

"$python" $vad/prepare.py "$out"
rm -rf "$out"/round-* # nothing of an earlier run may pass for this one's

mkdir -p "$out/java"
javac -d "$out/java" -cp "$jars" $vad/java/Vad.java
(cd $vad/go && go build -o "$out/vad_go" .)

for ((round = 1; round <= rounds; ++round)); do
  echo "Round $round of $rounds: TorchScript's interpreter, then Stator from C, Java, Go and Python" >&2
  rm -f "$out"/{reference,c,java,go,python}.{f32,json}
  "$build/bin/vad_reference" "$out/model.pt" "$out" > "$out/reference.json"
  "$build/bin/vad_c" "$out"
  java -Dstator.library.path="$build/lib" -cp "$out/java:$jars" Vad "$out"
  "$out/vad_go" "$out"
  "$python" $vad/vad.py "$out"
  mkdir "$out/round-$round"
  mv "$out"/{reference,c,java,go,python}.{f32,json} "$out/round-$round"
done

"$python" $vad/report.py "$out"
