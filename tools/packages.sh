# shellcheck shell=bash disable=SC2034
# The Debian packages Skep is built, checked and tried with, and how the missing ones are installed.
# Sourced by tools/check and tools/quickstart; README.md lists build_packages too, and
# tests/packages.py compares the two.

# What building everything takes. openssh-client: Open MPI's mpirun does not start without it, even
# on one host.
build_packages=(g++ cmake ninja-build pkg-config openmpi-bin openssh-client libopenmpi-dev
                libeigen3-dev libdnnl-dev catch2 libtomlplusplus-dev libcli11-dev nlohmann-json3-dev
                libfmt-dev libxxhash-dev libzstd-dev librapidcheck-dev)
# What the tests run besides, what makes the manual pages they look at, and what draws tools/claims' plots.
check_packages=(python3 help2man python3-matplotlib)
# A text to train on: the King James Bible, in the public domain.
text_packages=(bible-kjv bible-kjv-text)

# Ends the script with exit code 2: the caller has to do something first.
stop() {
  echo "$(basename "$0"): $*" >&2
  exit 2
}

# Prints which of the named packages are not installed, one a line.
missing_packages() {
  local package
  for package; do
    dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
  done
}

# The user's word that the named packages may be installed; without a terminal nobody can give it.
ask_consent() {
  local answer
  [ -t 0 ] || stop "not installed without being asked to: $*. Run it again with --yes, or install them first"
  read -r -p "Install them with apt? [Y/n] " answer
  case $answer in
    "" | [Yy]*) ;;
    *) stop "nothing was installed" ;;
  esac
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# Installs what is missing: install_packages ask|yes PACKAGE...
install_packages() {
  local consent=$1 missing
  shift
  command -v dpkg-query apt-get >/dev/null || stop "this is not Debian; what it would install there: $*"
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "Packages to install: ${missing[*]}"
  [ "$consent" = yes ] || ask_consent "${missing[*]}"
  [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
    stop "sudo is not installed. As root, run: apt-get install ${missing[*]}"
  as_root apt-get update -q
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}
