#!/usr/bin/env bash
# unpack.sh FOLDER PACKAGE...: downloads Debian packages and unpacks them below FOLDER. Nothing is installed, no root is needed.
set -euo pipefail
folder=$1
shift
mkdir -p "$folder/archives"
cd "$folder/archives"
rm -f ./*.deb
# The system's lists if they serve; else lists of our own, which any user may fetch.
if ! apt-get download "$@" > ../apt.log 2>&1; then
  mkdir -p ../apt/lists/partial ../apt/cache/archives/partial
  options=(-o Dir::State::Lists="$(realpath ../apt/lists)" -o Dir::Cache="$(realpath ../apt/cache)")
  apt-get "${options[@]}" update > ../apt.log 2>&1 &&
    apt-get "${options[@]}" download "$@" >> ../apt.log 2>&1 ||
    { cat ../apt.log >&2; echo "unpack.sh: cannot download: $*" >&2; exit 1; }
  rm -rf ../apt
fi
for archive in ./*.deb; do dpkg-deb -x "$archive" ..; done
cd ..
rm -rf archives
