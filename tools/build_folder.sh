# shellcheck shell=bash
# A checkout that was copied or moved brings build folders along that CMake has made for the old
# place and refuses here. Sourced by tools/check and tools/quickstart.

# Lets the next cmake configure FOLDER anew if another checkout configured it.
forget_other_checkout() {
  local cache=$1/CMakeCache.txt home
  [ -e "$cache" ] || return 0
  home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")
  [ "$home" -ef . ] || rm -rf "$cache" "$1/CMakeFiles"
}
