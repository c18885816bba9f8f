#!/bin/bash
# What saving costs: trains a model of about 30 million parameters, saves every 100 steps, and sets the
# time that training waited beside a plain write of the same bytes to the same disk.
# usage: save_cost.sh BINARY_FOLDER TEXT [RANKS=2] [STEPS=300] [FOLDER=save_cost] [FLAGS OF TRAIN]
set -eu
[ "${4:-300}" -ge 200 ] || { echo "save_cost: at least 200 steps: the save at the end is not beside training"; exit 2; }
bin=$1 text=$2 ranks=${3:-2} steps=${4:-300} folder=${5:-save_cost}
mkdir -p "$folder"
mpirun -q -np "$ranks" "$bin/train" --data.train "$text" --data.tokenizer byte --model.layers 9 \
  --model.heads 8 --model.width 512 --model.context 64 --batch.global_batch "$((4 * ranks))" \
  --run.eval_every 0 --run.log_every 1 --checkpoint.every 100 --checkpoint.keep 1 \
  --run.steps "$steps" --run.dir "$folder/run" --run.progress plain "${@:6}" >"$folder/out" </dev/null
last=$(ls -d "$folder"/run/ckpt/step-* | tail -n 1)
bytes=$(du -sb "$last" | cut -f 1)
start=$(date +%s.%N)
dd if=/dev/zero of="$folder/plain" bs=4M count="$bytes" iflag=count_bytes conv=fsync status=none
end=$(date +%s.%N)
rm "$folder/plain"
# Saves before the last step only: the last one is waited for, as the run ends.
awk -v start="$start" -v end="$end" -v bytes="$bytes" -v steps="$steps" '
  FNR == NR { if (match($0, /"step_s": *[0-9.e-]+/)) { v = substr($0, RSTART, RLENGTH); sub(/.*: */, "", v); total += v; next } next }
  /saved .*waited/ { split($0, a, /waited /); split(a[2], w, " "); split($0, c, /complete after /); split(c[2], d, " ")
    n++; stall[n] = w[1]; durable[n] = d[1] }
  END { plain = end - start; for (i = 1; i < n; i++) { s += stall[i]; d2 += durable[i] }
    printf "%d saves of %.1f MB beside training: waited %.3f s each, on disk after %.3f s; a plain write takes %.3f s\n", n - 1, bytes / 1e6, s / (n - 1), d2 / (n - 1), plain
    printf "share of the training time: %.2f %%; plain writes would be %.2f %%\n", 100 * s / (total + s), 100 * plain * (n - 1) / (total + plain * (n - 1)) }
' "$folder/run/metrics.jsonl" "$folder/out"
