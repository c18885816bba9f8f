"""Trains models of several kinds with the shipped programs and loads the checkpoints in transformers:
every tensor must find its place, the logits must be ours, the tokenizer must give our ids, and greedy
decoding our continuation.

Usage: python load_in_transformers.py BUILD_FOLDER
Needs torch and transformers; ends with 77 (skipped) without them.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

transformers.utils.logging.disable_progress_bar()
PROGRAMS = pathlib.Path(sys.argv[1]).resolve() / "bin"
TEXT = "".join(f"Line {i}: {i * i} bees fly over field {i % 7}.\n" for i in range(300))
PROMPT = "Line 7: "
KINDS = {
    "plain": "--data.tokenizer char",
    "no biases, own head": "--data.tokenizer char --model.bias false --model.tied false",
    "padded vocabulary, bytes": "--data.tokenizer byte --model.vocab 320",
    "bf16 and dropout": "--data.tokenizer char --precision.compute bf16 --model.dropout 0.1",
}
MOST = 1e-5  # between logits in fp32 here and in fp64 there


def run(folder, program, *arguments):
    done = subprocess.run([PROGRAMS / program, *arguments], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def train(folder, kind):
    arguments = ("--data.train text.txt --model.layers 2 --model.heads 2 --model.width 32 --model.context 32"
                 " --batch.global_batch 8 --run.eval_every 0 --run.steps 40 --run.progress off").split()
    run(folder, "train", *arguments, *KINDS[kind].split())
    return folder / "runs" / "run" / "ckpt" / "step-40" / "model"


def load(model_folder):
    model, found = transformers.GPT2LMHeadModel.from_pretrained(model_folder, dtype=torch.float64,
                                                                output_loading_info=True)
    for what, names in found.items():
        assert not names, f"{what}: {names}"
    return model.eval()


def our_logits(folder, model_folder, ids):
    lines = run(folder, "print_logits", model_folder, *map(str, ids)).splitlines()
    return torch.tensor([[float(x) for x in line.split()] for line in lines], dtype=torch.float64)


def check(folder, kind):
    (folder / "text.txt").write_text(TEXT)
    (folder / "prompt.txt").write_text(PROMPT)
    model_folder = train(folder, kind)
    model = load(model_folder)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(model_folder / "tokenizer.json"))
    ids = tokenizer.encode(PROMPT)
    ours = run(folder, "tokenize", "ids", "--tokenizer", model_folder, "prompt.txt").split()
    assert ids == [int(i) for i in ours], (ids, ours)
    with torch.no_grad():
        theirs = model(torch.tensor([ids])).logits[0]
        greedy = model.generate(torch.tensor([ids]), max_new_tokens=20, do_sample=False, pad_token_id=0)[0]
    difference = (our_logits(folder, model_folder, ids) - theirs).abs().max().item()
    size = theirs.abs().max().item()
    continued = run(folder, "generate", "--model", model_folder, "--prompt", PROMPT, "--tokens", "20", "--temperature",
                    "0", "--ids").split()
    assert greedy.tolist() == [int(i) for i in continued], (greedy.tolist(), continued)
    print(f"{kind}: logits up to {size:.2f} differ by at most {difference:.1e}", flush=True)
    assert difference < MOST, f"more than {MOST}"


for kind in KINDS:
    with tempfile.TemporaryDirectory(prefix="skep-transformers-") as scratch:
        check(pathlib.Path(scratch), kind)
