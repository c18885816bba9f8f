#!/usr/bin/env bash
# Tries the promise that a bare Debian 12 is enough: makes one in a folder, with nothing but the base
# system and this machine's package mirror, copies the checkout there and runs tools/quickstart
# (as root, then once more), tools/check, or quickstart as a user with sudo. Root only; not part of
# ctest: it takes minutes and downloads packages.
# Usage: tests/e2e/bare_machine.sh [quickstart|user|check|all] [EMPTY_FOLDER]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

# The mounts below live in a namespace of their own and end with it.
[ -n "${SKEP_BARE_MOUNTS:-}" ] || SKEP_BARE_MOUNTS=private exec unshare --mount --propagation private "$0" "$@"

what=${1:-all}
folder=${2:-}

stop() {
  echo "bare_machine.sh: $*" >&2
  exit 2
}

remove_machine() {
  umount -R "$folder/proc" "$folder/sys" "$folder/dev"
  rm -rf "$folder"
}

# A folder that was named is kept for looking into it.
prepare_folder() {
  if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap remove_machine EXIT
  fi
  mkdir -p "$folder"
  [ -z "$(ls -A "$folder")" ] || stop "$folder is not empty"
  chmod 755 "$folder"  # the machine's /, which its user must be able to read
}

# This machine's Debian mirrors, as lines of a sources.list.
debian_mirrors() {
  apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' | grep ' bookworm' | sort -u
}

make_machine() {
  local mirror
  command -v debootstrap >/dev/null || stop "debootstrap is not installed"
  mirror=$(debian_mirrors | awk '$3 == "bookworm" { print $2; exit }')
  debootstrap --variant=minbase bookworm "$folder" "$mirror" >/dev/null
  debian_mirrors >"$folder/etc/apt/sources.list"
  apt-config dump | grep '^Acquire::' >"$folder/etc/apt/apt.conf.d/90host"
  cp -L /etc/hosts "$folder/etc/hosts"  # without one every mpirun takes 5 s more
  cp -L /etc/resolv.conf "$folder/etc/resolv.conf"
  [ ! -e /etc/ssl/certs/ca-certificates.crt ] ||
    install -D /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/ca-certificates.crt"
  mount --bind /proc "$folder/proc"
  mount --bind /sys "$folder/sys"
  mount --rbind /dev "$folder/dev"
}

# Tracked files, and new ones that git does not ignore.
copy_checkout() {
  mkdir -p "$folder/$1"
  git ls-files -z --cached --others --exclude-standard | tar --null -T - -c | tar -x -C "$folder/$1"
}

inside() { env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 chroot "$folder" "$@"; }

# Runs a command inside and tells how long it took, and how much of the processors: on a busy
# machine the two differ.
timed() {
  local TIMEFORMAT="## $* took %0R s; processor time %0U s, and %0S s in the kernel
"
  time inside "$@" </dev/null
}

# From another folder, in a path with a space; once more; and once after the checkout has moved.
try_quickstart() {
  copy_checkout "/root/a skep"
  timed "/root/a skep/tools/quickstart" --yes
  timed "/root/a skep/tools/quickstart" --yes
  mv "$folder/root/a skep" "$folder/root/moved"
  timed /root/moved/tools/quickstart --yes
}

try_user() {
  inside sh -c "apt-get update -q && apt-get install -y -q --no-install-recommends sudo && useradd -m reader"
  echo "reader ALL=(ALL) NOPASSWD: ALL" >"$folder/etc/sudoers.d/reader"
  copy_checkout /home/reader/skep
  inside chown -R reader: /home/reader
  timed su - reader -c "skep/tools/quickstart --yes"
}

try_check() {
  copy_checkout /root/skep
  timed /root/skep/tools/check
}

case $what in
  quickstart | user | check) tries=("try_$what") ;;
  all) tries=(try_quickstart try_check) ;;
  *) stop "unknown: $what; choose quickstart, user, check or all" ;;
esac
prepare_folder
make_machine
for try in "${tries[@]}"; do $try; done
