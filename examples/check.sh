#!/usr/bin/env bash
# check.sh: runs the hello of each language on build/models/linear.pt and fails unless each prints what expected.txt says,
# which was computed without Stator, from the formula of the model's weights.
#
# From the environment, each with a default: PYTHON, BUILD (the build folder).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath "${BUILD:-build}")
if [ -z "${STATOR_BUILD_DIR:-}" ]; then exec tools/setup/env.sh --build "$build" examples/check.sh; fi

out=$build/examples
rm -rf "$out"
mkdir -p "$out"
jars="bindings/java/target/*:bindings/java/target/lib/*"
(cd examples/go && go build -o "$out/hello_go" ./hello)
javac -d "$out" -cp "$jars" examples/java/Hello.java

failed=
hello() { # NAME COMMAND...
  local name=$1 code=0
  shift
  "$@" "$build/models/linear.pt" > "$out/$name.txt" || code=$?
  if [ $code -ne 0 ]; then
    echo "examples: $name failed with exit status $code" >&2
    failed=yes
  elif ! diff -u --label expected --label "$name" examples/expected.txt "$out/$name.txt" >&2; then
    failed=yes
  fi
}
hello C "$build/bin/example_hello"
hello Java java -Dstator.library.path="$build/lib" -cp "$out:$jars" Hello
hello Go "$out/hello_go"
hello Python "${PYTHON:-.venv/bin/python}" examples/python/hello.py
if [ -n "$failed" ]; then exit 1; fi

cat examples/expected.txt
echo "examples: C, Java, Go and Python printed the same, as expected"
