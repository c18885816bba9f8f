#!/usr/bin/env bash
# Several hosts on one machine: network namespaces on one bridge, each with an address and a link of its
# own, limited to RATE; mpirun starts PROGRAM across them over TCP. Needs root, iproute2 and openmpi-bin.
# Everything vanishes when the script ends.
#   RATE=1gbit tools/bench/hosts.sh HOSTS RANKS PROGRAM [ARGUMENT...]
set -euo pipefail
if [ "${SKEP_HOSTS_INSIDE:-}" != yes ]; then
  [ $# -ge 3 ] || { echo "usage: RATE=1gbit $0 HOSTS RANKS PROGRAM [ARGUMENT...]" >&2; exit 2; }
  # A network and mounts of our own: what is made in them goes with them.
  SKEP_HOSTS_INSIDE=yes exec unshare --net --mount "$(readlink -f "$0")" "$@"
fi
hosts=$1 ranks=$2
shift 2
rate=${RATE:-1gbit}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

make_switch() {
  mkdir -p /run/netns
  mount -t tmpfs none /run/netns
  ip link set lo up
  ip link add switch type bridge
  ip addr add 10.99.0.254/24 dev switch
  ip link set switch up
  printf '127.0.0.1 localhost\n10.99.0.254 %s\n' "$(hostname)" >"$scratch/hosts"
}

make_host() {  # its number, from 1
  local name=host$1
  ip netns add "$name"
  ip link add "port$1" type veth peer name wire netns "$name"
  ip link set "port$1" master switch up
  ip -n "$name" link set lo up
  ip -n "$name" addr add "10.99.0.$1/24" dev wire
  ip -n "$name" link set wire up
  ip netns exec "$name" tc qdisc add dev wire root tbf rate "$rate" burst 256k limit 8m
  echo "10.99.0.$1 $name" >>"$scratch/hosts"
}

# What Open MPI uses in the place of ssh: `remote HOST COMMAND...`. A host has a folder for temporary
# files of its own: daemons that make the same one at once end, and mpirun would wait for them for ever.
make_remote_shell() {
  cat >"$scratch/remote" <<'END'
#!/usr/bin/env bash
name=$1
shift
export TMPDIR=$(dirname "$0")/$name
mkdir -p "$TMPDIR"
exec ip netns exec "$name" bash -c "$*"
END
  chmod +x "$scratch/remote"
}

make_switch
slots=$(((ranks + hosts - 1) / hosts)) list=
for ((i = 1; i <= hosts; ++i)); do
  make_host "$i"
  list+=${list:+,}host$i:$slots
done
make_remote_shell
mount --bind "$scratch/hosts" /etc/hosts
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
mpirun -q -H "$list" -np "$ranks" --bind-to none --mca plm rsh --mca plm_rsh_agent "$scratch/remote" \
  --mca plm_rsh_no_tree_spawn 1 --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include wire \
  --mca oob_tcp_if_include wire,switch "$@"
