#!/bin/bash
# What saving costs: trains a model of about 30 million parameters and saves every 100 steps. Counts
# the time that training waited, and by how much the steps beside a save took longer than the median
# step; sets both beside a plain serial write of the same bytes to the same disk.
# usage: save_cost.sh BINARY_FOLDER TEXT [RANKS=2] [STEPS=300] [FOLDER=save_cost] [FLAGS OF TRAIN]
set -eu
export LC_ALL=C
stop() {
  echo "save_cost: $*" >&2
  exit 2
}
[ $# -ge 2 ] || stop "usage: save_cost.sh BINARY_FOLDER TEXT [RANKS=2] [STEPS=300] [FOLDER=save_cost] [FLAGS OF TRAIN]"
bin=$1 text=$2 ranks=${3:-2} steps=${4:-300} folder=${5:-save_cost}
[ "$steps" -ge 200 ] || stop "at least 200 steps: the save at the end is not beside training"
mkdir -p "$folder"
mpirun -q -np "$ranks" "$bin/train" --data.train "$text" --data.tokenizer byte --model.layers 9 \
  --model.heads 8 --model.width 512 --model.context 64 --batch.global_batch "$((4 * ranks))" \
  --run.eval_every 0 --run.log_every 1 --checkpoint.every 100 --checkpoint.keep 1 \
  --run.steps "$steps" --run.dir "$folder/run" --run.progress plain "${@:6}" >"$folder/out" </dev/null

# "STEP SECONDS" of every step; "STEP WAITED COMPLETE" of every save but the last: that one is waited
# for, as the run ends.
sed -n 's/^{"step": *\([0-9]*\),.*"step_s": *\([-+.0-9e]*\),.*/\1 \2/p' "$folder/run/metrics.jsonl" >"$folder/steps"
sed -n 's/.*saved .*step-\([0-9]*\) (training waited \([.0-9]*\) s, complete after \([.0-9]*\) s).*/\1 \2 \3/p' \
  "$folder/out" | sed '$d' >"$folder/saves"
[ "$(wc -l <"$folder/steps")" -eq "$steps" ] || stop "$folder/run/metrics.jsonl does not have $steps steps"
[ -s "$folder/saves" ] || stop "$folder/out tells of no save beside training"
median=$(cut -d ' ' -f 2 "$folder/steps" | sort -g | sed -n "$(((steps + 1) / 2))p")

# The checkpoint's tensors, from the cache to the disk; the rest of it is a few kilobytes.
last=$folder/run/ckpt/step-$steps bytes=0
start=$(date +%s.%N)
for file in state.safetensors model/model.safetensors; do
  dd if="$last/$file" of="$folder/plain.${file##*/}" bs=4M conv=fsync status=none
done
end=$(date +%s.%N)
for file in state.safetensors model/model.safetensors; do
  bytes=$((bytes + $(stat -c %s "$last/$file")))
done
rm "$folder"/plain.*

awk -v start="$start" -v end="$end" -v bytes="$bytes" -v steps="$steps" -v median="$median" '
  FNR == NR { seconds[$1] = $2; total += $2; next }
  { n++; waited += $2; durable += $3
    passed = 0
    for (step = $1 + 1; step <= steps && passed < $3; step++) {
      passed += seconds[step]; slower += seconds[step] - median } }
  END {
    plain = end - start
    printf "%d saves of %.1f MB beside training: waited %.3f s each, on disk after %.3f s, the steps meanwhile %.3f s slower\n", n, bytes / 1e6, waited / n, durable / n, slower / n
    printf "share of the training time: %.2f %% waited, %.2f %% with the slower steps\n", 100 * waited / (total + waited), 100 * (waited + slower) / (total + waited)
    printf "a plain serial write takes %.3f s: it would be %.2f %%\n", plain, 100 * plain * n / (total + plain * n) }
' "$folder/steps" "$folder/saves"
