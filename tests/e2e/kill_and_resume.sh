#!/bin/bash
# Kills runs at random moments while they save after every step, and resumes them. Each must start
# again from a whole checkpoint, no older than the last one reported as saved and at most one save
# before the last that was due; the end must be that of a run that nobody killed.
# usage: kill_and_resume.sh BINARY_FOLDER [KILLS=12] [RANKS=2] [FLAGS OF THE KILLED RUNS]
set -u
bin=$1 kills=${2:-12} ranks=${3:-2} flags=("${@:4}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
for i in $(seq 400); do echo "Line $i: bees fly $((i * i % 97)) times to field $((i % 13))."; done >text.txt

steps=1000000 # more than there is time for
export TMPDIR=$work OMPI_MCA_btl_vader_backing_directory=$work # killed programs leave files there
train() { # DIR STEPS MORE...; in a session of its own
  exec setsid mpirun -q -np "$ranks" "$bin/train" --data.train text.txt --data.tokenizer char \
    --model.layers 2 --model.heads 2 --model.width 64 --model.context 16 --batch.global_batch 12 \
    --run.eval_every 0 --run.log_every 1 --checkpoint.every 1 --run.dir "$1" --run.steps "$2" \
    "${@:3}" </dev/null
}
fail() {
  echo "kill_and_resume: $*"
  cat out 2>/dev/null | tail -n 5
  exit 1
}
newest_step() { # of the steps in metrics.jsonl, a last line cut off by the kill left out
  grep '}$' run/metrics.jsonl 2>/dev/null | sed -n 's/^{"step": *\([0-9]*\),.*"loss".*/\1/p' | tail -n 1
}
newest_saved() { sed -n 's/.*saved run\/ckpt\/step-\([0-9]*\).*/\1/p' out | tail -n 1; }

stepped=0 saved=0 lost_most=0
for kill in $(seq "$kills"); do
  train run $steps --run.resume auto "${flags[@]}" >out 2>&1 &
  session=$!
  # Lives until it has begun to train, and then for a random time.
  for _ in $(seq 600); do
    grep -q 'step [0-9]*/' out && break
    kill -0 $session 2>/dev/null || fail "the run ended by itself"
    sleep 0.05
  done
  sleep "0.$(printf %03d $((RANDOM % 1000)))"
  kill -KILL $(ps -o pid= -s $session) 2>/dev/null
  wait $session 2>/dev/null
  while ps -o stat= -s $session | grep -qv Z; do sleep 0.02; done
  if [ "$stepped" -gt 0 ]; then
    from=$(sed -n 's/.*resumed from .* at step \([0-9]*\).*/\1/p' out | head -n 1)
    # Killed before the first save was complete, there is nothing to go on from.
    [ -n "$from" ] || ! grep -q 'no checkpoint in' out || from=0
    [ -n "$from" ] || fail "kill $kill: did not resume"
    [ "$from" -ge "$saved" ] || fail "kill $kill: resumed at $from, step $saved had been saved"
    # The save of the last step may not have begun, that of the step before may be under way.
    [ "$from" -ge $((stepped - 2)) ] || fail "kill $kill: resumed at $from after step $stepped"
    [ $((stepped - from)) -gt $lost_most ] && lost_most=$((stepped - from))
  fi
  now=$(newest_step)
  stepped=${now:-$stepped}
  now=$(newest_saved)
  saved=${now:-$saved}
done
end=$((stepped + 2))
(train run $end --run.resume auto) >out 2>&1 || fail "the last resume failed"
(train whole $end --checkpoint.every 0) >out 2>&1 || fail "the run that nobody killed failed"
for file in model/model.safetensors state.safetensors state.json; do
  cmp run/ckpt/step-$end/$file whole/ckpt/step-$end/$file || fail "another $file"
done
echo "kill_and_resume: $kills kills, $end steps, at most $lost_most steps repeated, same bytes at the end"
