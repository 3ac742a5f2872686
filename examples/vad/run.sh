#!/usr/bin/env bash
# What `make demo` runs once everything is built: the model on a real recording, from C, Java, Go and Python.
#
# From the environment, each with a default: PYTHON, BUILD (the build folder), STATOR_TORCH_HOME.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

python=${PYTHON:-.venv/bin/python}
build=$(realpath "${BUILD:-build}")
out=$build/demo
vad=examples/vad

torch_home='import importlib.util; print(importlib.util.find_spec("torch").submodule_search_locations[0])'
export STATOR_TORCH_HOME=${STATOR_TORCH_HOME:-$("$python" -c "$torch_home")}
export PKG_CONFIG_PATH=$build/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

"$python" $vad/prepare.py "$out"
rm -f "$out"/{reference,c,java,go,python}.{f32,json} # nothing of an earlier run may pass for this one's

echo "Running the model in TorchScript's interpreter, then through Stator from C, Java, Go and Python ..."
"$build/bin/vad_reference" "$out/model.pt" "$out" > "$out/reference.json"

"$build/bin/vad_c" "$out"

jars="bindings/java/target/*:bindings/java/target/lib/*:bindings/java/target/dependency/*"
mkdir -p "$out/java"
javac -d "$out/java" -cp "$jars" $vad/java/Vad.java
java -Djna.library.path="$build/lib" -cp "$out/java:$jars" Vad "$out"

(cd $vad/go && go run . "$out")

"$python" $vad/vad.py "$out"

echo
"$python" $vad/report.py "$out"
