#!/usr/bin/env bash
# tools/build_folder.sh: the build folder of a copied checkout is configured anew, that of a checkout
# which stayed where it was keeps its cache.
# usage: build_folder.sh REPOSITORY
set -euo pipefail
source "$1/tools/build_folder.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "build_folder: $*"
  cat "$work/log"
  exit 1
}
configure() { cmake -G Ninja -S . -B build "$@" >"$work/log" 2>&1; }

mkdir "$work/old"
cd "$work/old"
printf 'cmake_minimum_required(VERSION 3.25)\nproject(small LANGUAGES NONE)\n' >CMakeLists.txt
forget_other_checkout build
configure -DMINE=kept || fail "a new folder cannot be configured"
forget_other_checkout build
configure || fail "its own folder cannot be configured again"
grep -q '^MINE:.*=kept' build/CMakeCache.txt || fail "its own cache is gone"

cp -r "$work/old" "$work/a copy"
cd "$work/a copy"
configure && fail "CMake takes a copied folder as it is"
forget_other_checkout build
configure || fail "a copied folder cannot be configured"
grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" build/CMakeCache.txt || fail "it still belongs to the old place"
rm -r "$work/old"
forget_other_checkout build
configure || fail "the copy needs the old place"
