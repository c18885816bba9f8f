#!/bin/sh
# Runs cudnn_graphs where no GPU is. cuDNN wants a driver to load; the toolkit's stub does, under the
# driver's name. Usage: run_cudnn_graphs.sh PROGRAM STUB [arguments of the program]. Ends with 77,
# which ctest shows as skipped, when one of the two is absent.
set -eu
program=$1 stub=$2
shift 2
[ -x "$program" ] || { echo "skipped: cuDNN was not found when this was configured"; exit 77; }
[ -e "$stub" ] || { echo "skipped: the CUDA toolkit has no stub of libcuda"; exit 77; }
drivers=$(mktemp -d)
trap 'rm -rf "$drivers"' EXIT
ln -s "$stub" "$drivers/libcuda.so.1"
LD_LIBRARY_PATH=$drivers${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$program" "$@"
