// What a newcomer to train gets wrong: one line that says what, where and what to do, the
// documented exit code, all ranks gone, and nothing of an earlier run touched.
#include <catch2/catch.hpp>

#include "mistakes.h"

using namespace skep::test;

namespace {

const std::string train = "train --config small.toml ";
const std::string train_tokens = train + "--data.train tokens.bin --data.tokenizer byte";
const std::string json = "tokenize train --kind char --out tokenizer text.txt >/dev/null; ";
const std::string train_json = train + "--data.tokenizer tokenizer";

}  // namespace

TEST_CASE("mistakes: data files", "[mistakes]") {
  check_mistakes({
      {"missing", "", train + "--data.train none", 3, "there is no file none"},
      {"validation missing", "", train + "--data.val none", 3, "data.val: there is no file none"},
      {"an empty folder", "mkdir folder", train + "--data.train folder", 3,
       "the folder folder holds no files"},
      {"files of two kinds", tokens + "mkdir mixed; cp text.txt tokens.bin mixed",
       train + "--data.train mixed", 3, "name files of one kind"},
      {"empty", ": >empty", train + "--data.train empty", 3, "empty: the file is empty"},
      {"too short", "printf abcdefghi >short", train + "--data.train short", 3,
       "short is too short: a window of model.context 16 needs 17 tokens, found 8 beside the 1"},
      {"not readable", "chmod 000 text.txt", train, 3, "text.txt: Permission denied",
       Inside::unprivileged},
      {"an archive", "gzip -k text.txt", train + "--data.train text.txt.gz --data.tokenizer byte",
       3, "text.txt.gz: not a plain text but compressed by gzip: unpack it first"},
      {"a zip", "printf 'PK\\003\\004 and so on' >text.zip",
       train + "--data.train text.zip --data.tokenizer byte", 3, "text.zip: not a plain text"},
      {"UTF-16", "iconv -t UTF-16 text.txt >wide.txt",
       train + "--data.train wide.txt --data.tokenizer byte", 3,
       "wide.txt: not a plain text but UTF-16 text: convert it with `iconv"},
      {"Latin-1", "printf 'Gr\\366\\337e' | cat text.txt - >latin.txt",
       train + "--data.train latin.txt", 3, "latin.txt: not UTF-8 at byte"},
      {"odd size", "printf abc >odd.bin", train + "--data.train odd.bin --data.tokenizer byte", 3,
       "odd.bin: 3 bytes are no whole number of uint16 tokens"},
      {"wrong magic", tokens + poke("tokens.bin", "\\246\\331\\064\\001", 0), train_tokens, 3,
       "tokens.bin: an llm.c file with magic 20240806, but token files have 20240520"},
      {"wrong version", tokens + poke("tokens.bin", "\\002", 4), train_tokens, 3,
       "tokens.bin: llm.c magic 20240520 with version 2, expected version 1"},
      {"cut off", tokens + "truncate -s -10 tokens.bin", train_tokens, 3,
       "tokens.bin: truncated: 3001 tokens take 7026 bytes, the file has 7016"},
      {"cut off in the header", tokens + "truncate -s 100 tokens.bin", train_tokens, 3,
       "tokens.bin: truncated: an llm.c header has 1024 bytes, the file 100"},
      {"too long", tokens + "cat text.txt >>tokens.bin", train_tokens, 3,
       "tokens.bin: bytes left over"},
      {"an id outside the vocabulary",
       tokens + json + poke("tokens.bin", "\\054\\001", 1024 + 2 * 1500),
       train + "--data.train tokens.bin --data.tokenizer byte --model.vocab 256", 3,
       "tokens.bin: token 300 at position 1500 is outside the vocabulary of 256"},
      {"characters for a file of tokens", tokens,
       train + "--data.train tokens.bin --data.tokenizer char", 2, "tokens.bin holds tokens"},
  });
}

TEST_CASE("mistakes: tokenizers", "[mistakes]") {
  check_mistakes({
      {"missing", "", train + "--data.tokenizer gpt3", 3, "gpt3 is neither byte nor char nor"},
      {"a folder without one", "mkdir tokenizer", train_json, 3, "tokenizer/tokenizer.json"},
      {"cut off", json + "truncate -s -100 tokenizer/tokenizer.json", train_json, 3,
       "tokenizer/tokenizer.json: not a usable tokenizer.json: parse error at line"},
      {"empty", "mkdir tokenizer; : >tokenizer/tokenizer.json", train_json, 3,
       "tokenizer/tokenizer.json: not a usable tokenizer.json: parse error at line 1"},
      {"another JSON", "mkdir tokenizer; echo '{}' >tokenizer/tokenizer.json", train_json, 3,
       "tokenizer/tokenizer.json: not a tokenizer.json: it has no object \"model\""},
      {"another kind",
       "mkdir tokenizer; echo '{\"model\": {\"type\": \"Unigram\"}}' >tokenizer/tokenizer.json",
       train_json, 3, "the kind Unigram is not supported"},
      {"one id twice", json + "sed -i 's/\": 1,/\": 0,/' tokenizer/tokenizer.json", train_json, 3,
       "tokenizer/tokenizer.json: vocabulary: the id of"},
      {"of another text", json + "echo Z >>text.txt", train_json, 3,
       "text.txt, from byte 2702 on: character U+005A at byte 299 is not among"},
  });
}

TEST_CASE("mistakes: the command line", "[mistakes]") {
  check_mistakes({
      {"misspelt key", "", train + "--optim.lrr 1", 2,
       "unknown option --optim.lrr; did you mean --optim.lr?"},
      {"key without its section", "", train + "--steps 3", 2, "did you mean --run.steps?"},
      {"unknown key", "", train + "--optim.learning_rate 1", 2, "[optim] has kind, lr, min_lr"},
      {"nothing near", "", train + "--quux 1", 2, "unknown option --quux; `train --help` lists"},
      {"an option of mpirun", "", train + "-np 3", 2, "-np is an option of mpirun"},
      {"no option", "", train + "fast", 2, "unexpected argument fast"},
      {"no value", "", train + "--optim.lr", 2, "--optim.lr needs a value"},
      {"not a number", "", train + "--optim.lr fast", 2, "optim.lr must be a number, got \"fast\""},
      {"decimal comma", "", train + "--optim.lr 0,1", 2, "optim.lr must be a number, got \"0,1\""},
      {"nan", "", train + "--optim.lr nan", 2, "optim.lr must be a number, at least 0, got nan"},
      {"not an integer", "", train + "--run.steps 1e3", 2, "run.steps must be an integer"},
      {"beyond 64 bits", "", train + "--run.steps 99999999999999999999", 2,
       "run.steps must be an integer, at least 0, and 99999999999999999999 does not fit into 64 b"},
      {"negative", "", train + "--model.layers -2", 2, "model.layers must be an integer, from 1"},
      {"a word that is none of the choices", "", train + "--comm.topology star", 2,
       "comm.topology must be one of exponential"},
      {"a name that is a path", "", train + "--run.name ../x", 2, "run.name"},
      {"heads that do not divide", "", train + "--model.heads 5", 2,
       "model.heads 5 does not divide model.width 32; the nearest widths that do are 30 and 35"},
      {"a batch that does not divide", "", train + "--batch.global_batch 25 --batch.micro_batch 4",
       2, "the nearest sizes that do are 24"},
      {"more ranks than sequences",
       "",
       train + "--batch.global_batch 2",
       2,
       "global_batch 2 does not divide among 3 ranks; the nearest sizes that do are 3",
       Inside::nothing,
       "run",
       {3}},
      {"a batch larger than memory", "", train + "--batch.global_batch 1500000000", 2,
       "set batch.micro_batch to less"},
      {"a model larger than memory", "", train + "--model.width 100000", 2, "reduce model.layers"},
      {"a vocabulary larger than memory", "", train + "--model.vocab 2000000000", 2, "model.vocab"},
      {"a vocabulary too small", "", train + "--model.vocab 3", 2, "model.vocab 3 is less than"},
      {"a context longer than the data", "", train + "--model.context 5000", 3, "smaller context"},
      {"no data", "", "train", 2, "no training data: give --data.train FILE"},
      {"ranks that do not find each other", "", "env OMPI_COMM_WORLD_SIZE=8 " + train, 2,
       "the launcher started 8 processes"},
      {"too many threads", "", "env OMP_NUM_THREADS=100000 " + train, 2, "OMP_NUM_THREADS"},
      {"diverged", "", train + "--run.dir new --run.steps 60 --optim.lr 1e30", 4, "not finite"},
  });
}

TEST_CASE("mistakes: the configuration file", "[mistakes]") {
  const auto file = [](const std::string& name, const std::string& lines, const std::string& says) {
    return Mistake{name, "printf '" + lines + "' >bad.toml",
                   "train --data.train text.txt --config bad.toml", 2, says};
  };
  check_mistakes({
      {"missing", "", "train --config none.toml", 2, "none.toml: No such file"},
      {"a directory", "mkdir folder", "train --config folder", 2, "folder: it is a directory"},
      {"a text", "", "train --config text.txt", 2, "text.txt:1: not valid TOML"},
      {"twice", "", train + "--config small.toml", 2, "--config is given 2 times"},
      file("syntax", "[optim]\\nlr = = 3\\n", "bad.toml:2: not valid TOML"),
      file("key twice", "[optim]\\nlr = 1\\nlr = 3\\n", "bad.toml:3: not valid TOML"),
      file("section twice", "[optim]\\nlr = 1\\n[optim]\\nmin_lr = 3\\n", "bad.toml:3: not valid"),
      file("misspelt key", "[optim]\\nlr = 1\\nmin_lrr = 0\\n",
           "bad.toml:3: unknown key optim.min_lrr; did you mean optim.min_lr?"),
      file("unknown key", "[optim]\\nlearning_rate = 1\\n", "bad.toml:2: unknown key"),
      file("misspelt section", "[optm]\\n", "bad.toml:1: unknown section [optm]; did you mean"),
      file("no section", "lr = 1\\n", "bad.toml:1: key lr stands outside a [section]; did you"),
      file("wrong type", "[run]\\nsteps = 1.5\\n", "bad.toml:2: run.steps must be an integer"),
      file("beyond 64 bits", "[run]\\nsteps = 99999999999999999999\\n",
           "99999999999999999999' is not representable in 64 bits"),
      file("text for a number", "[optim]\\nlr = \"1\"\\n", "bad.toml:2: optim.lr must be a number"),
      file("array", "[model]\\nlayers = [2]\\n", "bad.toml:2: model.layers must be an integer"),
      file("nan", "[optim]\\nlr = nan\\n", "bad.toml:2: optim.lr"),
      file("not UTF-8", "[run]\\nname = \"\\366\"\\n", "bad.toml:2: not valid TOML"),
  });
}

TEST_CASE("mistakes: checkpoints to resume", "[mistakes]") {
  const std::string step_2 = "run/ckpt/step-2", weights = step_2 + "/model/model.safetensors";
  const std::string resume = train + "--run.resume " + step_2 + " --run.steps 3 ";
  check_mistakes({
      {"missing", "", train + "--run.resume run/ckpt/step-9", 3,
       "there is no such checkpoint folder: run/ckpt/step-9"},
      {"a word", "", train + "--run.resume last", 3, "use none, auto, or the path"},
      {"the run's folder", "", train + "--run.resume run", 3,
       "run is not a checkpoint; the newest in it is run/ckpt/step-2"},
      {"cut off", "truncate -s -4 " + weights, resume, 3,
       step_2 + ": cannot resume from this checkpoint: model/model.safetensors has the wrong size"},
      {"one bit", poke(weights, "\\001", 9000), resume, 3, "model/model.safetensors is damaged"},
      {"one file gone", "rm " + step_2 + "/state.safetensors", resume, 3,
       "state.safetensors is missing"},
      {"manifest cut off", "truncate -s 20 " + step_2 + "/manifest.json", resume, 3,
       "its manifest.json is damaged"},
      {"of another model", "", resume + "--model.width 64 --model.context 8", 3,
       "model has width 32, context 16, the configured one width 64, context 8"},
      {"of another optimizer", "", resume + "--optim.kind sgd", 3, "another optim.kind"},
      {"of another seed", "", resume + "--run.seed 3", 3, "its run.seed was 1337, now it is 3"},
      {"of other data", "cat text.txt text.txt >twice.txt", resume + "--data.train twice.txt", 3,
       "number of samples in an epoch"},
      {"auto, but another model", "", train + "--run.resume auto --model.heads 1", 3,
       "model has 2 heads, the configured one 1 heads"},
      {"all checkpoints damaged",
       "for n in 1 2; do " + poke("run/ckpt/step-$n/state.safetensors", "\\001", 9000) + "done",
       train + "--run.resume auto", 3, "no checkpoint in run/ckpt is whole (the newest: skipping"},
      {"a folder where a file of a checkpoint was",
       "for n in 1 2; do rm run/ckpt/step-$n/state.json; mkdir run/ckpt/step-$n/state.json; done",
       train + "--run.resume auto", 3, "no checkpoint in run/ckpt is whole"},
  });
}

TEST_CASE("mistakes: places that cannot be written", "[mistakes]") {
  const std::string elsewhere = train + "--run.dir disk/run ", make = "mkdir disk; ";
  const std::string used = make + "mv run disk; ";  // a run whose disk became what it now is
  const std::string old = "disk/run";
  check_mistakes({
      {"a file in the way", "", train + "--run.dir text.txt", 5, "text.txt is a file, not a dir"},
      {"below a file", "", train + "--run.dir text.txt/run", 5, "text.txt is a file, not a dir"},
      {"checkpoints below a file", "", train + "--checkpoint.dir text.txt/x", 5,
       "text.txt is a file, not a directory"},
      {"a device", "", train + "--run.dir /dev/full", 5, "/dev/full is a file, not a directory"},
      {"no permission", make + "chmod 555 disk", elsewhere, 5,
       "disk/run: Permission denied; choose a folder that you may write to", Inside::unprivileged},
      {"no permission for checkpoints", make + "chmod 555 disk", train + "--checkpoint.dir disk/c",
       5, "Permission denied", Inside::unprivileged},
      {"no permission in a used folder", used + "chmod 555 disk/run", elsewhere, 5,
       "Permission denied", Inside::unprivileged, old},
      {"no permission to move old checkpoints", used + "chmod 555 disk/run/ckpt", elsewhere, 5,
       "Permission denied", Inside::unprivileged, old},
      {"read-only", make, elsewhere, 5, "disk/run: Read-only file system; choose",
       Inside::read_only},
      {"read-only with a run", used, elsewhere, 5, "Read-only file system", Inside::read_only, old},
      {"read-only to resume", used, elsewhere + "--run.resume auto --run.steps 3", 5,
       "Read-only file system", Inside::read_only, old},
      {"read-only for checkpoints", make, train + "--checkpoint.dir disk/ckpt", 5,
       "Read-only file system", Inside::read_only},
      {"full", make, elsewhere, 5, "No space left on device; make room", Inside::full_disk},
      {"full for checkpoints", make, train + "--checkpoint.dir disk/ckpt", 5,
       "No space left on device; make room", Inside::full_disk},
  });
}

TEST_CASE("mistakes: a disk that fills up during a run", "[mistakes]") {
  // The checkpoints before are whole: the run continues from the last of them.
  check_mistakes({
      {"at the second checkpoint",
       "mkdir disk",
       train + "--run.dir disk/run --run.steps 9",
       5,
       "disk/run/ckpt/step-2.tmp/",
       Inside::small_disk,
       "run",
       {1, 3},
       "grep -q 'WARN .*disk/run/ckpt: a checkpoint takes .*, 4 more are' left/run/log.rank-0; "
       "test -z \"$(ls -d left/run/ckpt/*.tmp)\"; " +
           train + "--run.dir left/run --run.resume auto" +
           " | grep 'resumed from left/run/ckpt/step-1 at step 1'"},
      {"no room for the first, known before a step is taken",
       "mkdir disk",
       train + "--run.dir disk/run --model.width 128",
       5,
       "disk/run/ckpt: a checkpoint takes about 2.",
       Inside::small_disk,
       "run",
       {1, 3},
       "test ! -e left/run/metrics.jsonl"},
      {"at a limit on file sizes",
       "",
       train + "--run.resume auto --run.steps 3",
       5,
       "step-3.tmp/model/model.safetensors: write: File too large; raise",
       Inside::small_files,
       "run/ckpt",
       {1, 3},
       train + "--run.resume auto --run.steps 3 | grep 'run/ckpt/step-2 at'"},
  });
}

TEST_CASE("what only looks unusual works", "[mistakes]") {
  check_works({
      {"spaces and letters outside ASCII", "cp text.txt 'ein größerer text.txt'",
       train + "--data.train 'ein größerer text.txt' --run.dir 'ein lauf, größer'",
       "saved ein lauf, größer/ckpt/step-2"},
      {"an absolute path", "", train + "--data.train \"$PWD/text.txt\" --run.dir \"$PWD/new\"",
       "a größe/new/ckpt/step-2"},
      {"a text from Windows", "printf '\\357\\273\\277' | cat - text.txt | sed 's/$/\\r/' >dos.txt",
       train + "--run.dir new --data.train dos.txt", "step 2/2"},
      {"a configuration from Windows",
       "printf '\\357\\273\\277' | cat - small.toml | sed 's/$/\\r/' >dos.toml",
       "train --config dos.toml --run.dir new", "step 2/2"},
      {"no steps", "", train + "--run.dir new --run.steps 0", "saved new/ckpt/step-0"},
      {"nothing left to do", "", train + "--run.resume auto", "nothing left to train"},
      {"validation rarer than the end", "", train + "--run.dir new --run.eval_every 99",
       "step 2/2"},
      {"fewer windows than sequences and ranks", "head -c 40 text.txt >short.txt",
       train + "--run.dir new --data.train short.txt", "step 2/2"},
      {"a log that cannot be written", "mkdir new; ln -s /dev/full new/log.rank-0",
       train + "--run.dir new", "step 2/2"},
      {"an equals sign", "", "train --config=small.toml --run.dir=new", "step 2/2"},
      {"a damaged checkpoint passed over", poke("run/ckpt/step-2/state.safetensors", "\\001", 9000),
       train + "--run.resume auto", "skipping checkpoint run/ckpt/step-2: state.safetensors is d"},
      {"white space between ids", "",
       "generate --model run/ckpt/step-2 --ids --tokens 0 --prompt-ids '1, 2  3'", "1 2 3"},
  });
}
