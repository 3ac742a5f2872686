#!/usr/bin/env bash
# need.sh TOOL...: fails naming every tool that is not there.
set -euo pipefail
missing=()
for tool in "$@"; do command -v "$tool" > /dev/null || missing+=("$tool"); done
[ ${#missing[@]} -eq 0 ] || { echo "missing tools: ${missing[*]}" >&2; exit 1; }
