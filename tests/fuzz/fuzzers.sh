#!/usr/bin/env bash
# fuzzers.sh PYTHON PROGRAMS FOLDER SECONDS: runs each of libFuzzer's programs for so long. What makes one fail stays in FOLDER.
set -euo pipefail
python=$1 programs=$2 folder=$3 seconds=$4
here=$(dirname "$0")
"$python" -W ignore "$here/seeds.py" "$folder/corpus" "$folder"
export ASAN_OPTIONS=detect_container_overflow=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
failed=
for name in archive program; do
  mkdir -p "$folder/${name}_found"
  echo "== ${name}_fuzzer, $seconds s"
  "$programs/${name}_fuzzer" -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=3000 -print_final_stats=1 -verbosity=1 \
    -dict="$folder/words.dict" -artifact_prefix="$folder/${name}_" "$folder/${name}_found" "$folder/${name}_seeds" > "$folder/$name.log" 2>&1 ||
    failed="$failed $name"
  grep -E 'SUMMARY|ERROR|stat::(number|peak|average)' "$folder/$name.log" || true
  grep -E 'cov: ' "$folder/$name.log" | tail -1
done
[ -z "$failed" ] || { echo "fuzzers.sh: failed:$failed; see $folder/*.log" >&2; exit 1; }
