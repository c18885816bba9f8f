#!/usr/bin/env python3
"""Step times of training over each topology, across hosts made by hosts.sh, beside the cost model's price.

Usage: wires.py BUILD_FOLDER TEXT [--hosts 4] [--rate 1gbit] [--steps 6] [--scratch DIR]. Needs root.
Latency and bandwidth are fitted on the same links first. With comm.reduction = exact every topology that
brings all ranks together must end with the same bytes; the script checks that they do.
"""
import argparse
import hashlib
import json
import os
import re
import statistics
import subprocess

EVERYBODY = ["ring", "tree", "full_mesh", "halving_doubling", "hierarchical"]
PARTLY = ["random_clusters", "grid", "exponential"]

arguments = argparse.ArgumentParser()
arguments.add_argument("build")
arguments.add_argument("text")
arguments.add_argument("--hosts", type=int, default=4)
arguments.add_argument("--rate", default="1gbit")
arguments.add_argument("--steps", type=int, default=6)
arguments.add_argument("--scratch", default="/tmp/skep-wires")
options = arguments.parse_args()
binaries = os.path.join(os.path.abspath(options.build), "bin")
here = os.path.dirname(os.path.abspath(__file__))


def across_hosts(*command):
    run = subprocess.run([os.path.join(here, "hosts.sh"), str(options.hosts), str(options.hosts), *command],
                         text=True, capture_output=True, env={**os.environ, "RATE": options.rate})
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{run.stdout}{run.stderr}")
    return run.stdout


def fitted():
    """The wires' alpha (us), beta and gamma (ns/byte)."""
    text = across_hosts(f"{binaries}/bench", "comm", "--fit", "--topology", "ring", "--min", "65536", "--max", "1048576",
                        "--repetitions", "3")
    found = re.search(r"alpha ([\d.]+) us, beta ([\d.]+) ns/byte.*gamma ([\d.]+) ns/byte", text)
    print(found.group(0))
    return found.groups()


def train(topology, reduction):
    folder = f"{options.scratch}/{topology}-{reduction}"
    across_hosts(f"{binaries}/train", "--data.train", options.text, "--data.tokenizer", "char", "--run.dir", folder,
                 "--model.layers", "6", "--model.heads", "6", "--model.width", "384", "--model.context", "64",
                 "--batch.global_batch", str(2 * options.hosts), "--batch.micro_batch", "1",
                 "--run.steps", str(options.steps), "--run.eval_batches", "1", "--comm.hash_every", "0",
                 "--comm.overlap", "false", "--comm.topology", topology, "--comm.cluster_size", "2",
                 "--comm.reduction", reduction)
    with open(f"{folder}/metrics.jsonl", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    steps = [row for row in rows if "step_s" in row][1:]  # the first one warms up
    with open(f"{folder}/ckpt/step-{options.steps}/model/model.safetensors", "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    sent = (steps[-1]["bytes_sent"] - steps[0]["bytes_sent"]) / (len(steps) - 1)
    return (statistics.median(row["step_s"] for row in steps), statistics.median(row["comm_wait_s"] for row in steps),
            rows[-1]["val_loss"], digest, sent)


def predicted(topology, costs, gradient_bytes):
    alpha, beta, gamma = costs
    text = subprocess.run([f"{binaries}/inspect", "comm", "--topology", topology, "-n", str(options.hosts),
                           "--bytes", str(gradient_bytes), "--cluster-size", "2", "--alpha", alpha, "--beta", beta,
                           "--gamma", gamma], text=True, capture_output=True, check=True).stdout
    return float(re.search(r"([\d.]+) us predicted", text).group(1)) / 1e6


costs = fitted()
gradient_bytes = 0
digests = set()
print("| topology | ms a step | of it communication, measured | predicted | error | MB sent by rank 0 | validation loss |")
print("|---|---|---|---|---|---|---|")
for topology in EVERYBODY + PARTLY:
    step, wait, loss, _, sent = train(topology, "fast")
    if topology == "ring":  # 2m(N-1)/N bytes
        gradient_bytes = round(sent * options.hosts / (2 * (options.hosts - 1)) / 4) * 4
    price = predicted(topology, costs, gradient_bytes)
    print(f"| {topology} | {1e3 * step:.0f} | {1e3 * wait:.0f} | {1e3 * price:.0f} | {100 * (price / wait - 1):+.0f} % "
          f"| {sent / 1e6:.1f} | {loss:.4f} |", flush=True)
for topology in EVERYBODY:
    digests.add(train(topology, "exact")[3])
print(f"exact: {len(EVERYBODY)} topologies, {len(digests)} different model files")
raise SystemExit(0 if len(digests) == 1 else 1)
