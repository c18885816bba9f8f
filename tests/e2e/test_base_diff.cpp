// Checkpoints as differences, as the shipped programs write and read them.
#include <catch2/catch.hpp>

#include "program.h"
#include "train/checkpoint/chain.h"

using namespace skep;
using namespace skep::test;
namespace fs = std::filesystem;

namespace {

const std::string diffs =
    " --checkpoint.every 1 --checkpoint.keep 100 --checkpoint.kind base_diff "
    "--checkpoint.max_diffs 4";

std::string step_of(const ScratchFolder& scratch, const std::string& run, int step) {
  return scratch.path + "/" + run + "/ckpt/step-" + std::to_string(step);
}

std::string bytes_of(const SafetensorsFile& file) {
  std::string bytes;
  for (const StoredTensor& t : file.tensors())
    bytes += t.name + std::string(reinterpret_cast<const char*>(t.data.data()), t.data.size());
  return bytes;
}

}  // namespace

TEST_CASE("base_diff: stop in mid-chain and resume gives the same bytes as never stopping") {
  const ScratchFolder scratch;
  const std::string rule = GENERATE("every_step", "local_sgd");
  const std::string more = " --sync.rule " + rule + diffs;
  REQUIRE(run_ranked(2, small_run(scratch, "parts", 7) + more, scratch).code == 0);
  REQUIRE_FALSE(fs::exists(step_of(scratch, "parts", 7) + "/model"));
  const Ending ending =
      run_ranked(2, small_run(scratch, "parts", 12) + more + " --run.resume auto", scratch);
  INFO(ending.out << ending.err);
  REQUIRE(ending.code == 0);
  CHECK_THAT(ending.out, Catch::Contains("resumed from") && Catch::Contains("at step 7"));
  const std::string kind = " --checkpoint.kind full";
  REQUIRE(run_ranked(2, small_run(scratch, "whole", 12) + " --sync.rule " + rule + kind, scratch)
              .code == 0);
  const std::string whole = step_of(scratch, "whole", 12), parts = step_of(scratch, "parts", 12);
  REQUIRE_FALSE(fs::exists(parts + "/model"));
  const Chain chain(parts);
  const std::string own = rule == "local_sgd" ? "rank-1/" : "";
  for (const std::string& file :
       {std::string("model/model.safetensors"), own + "state.safetensors"})
    CHECK(bytes_of(chain.tensors(file)) == bytes_of(SafetensorsFile::open(whole + "/" + file)));
  CHECK(read_file(parts + "/" + own + "state.json") == read_file(whole + "/" + own + "state.json"));
}

TEST_CASE("base_diff: generate, evaluate, inspect and tokenize read a difference") {
  const ScratchFolder scratch;
  REQUIRE(run_ranked(2, small_run(scratch, "diff", 5) + diffs, scratch).code == 0);
  REQUIRE(run_ranked(2, small_run(scratch, "full", 5), scratch).code == 0);
  // A base at 1, and the last of its chain at 5.
  REQUIRE_FALSE(fs::exists(step_of(scratch, "diff", 5) + "/model"));
  const auto output = [&](const std::string& arguments, const std::string& checkpoint) {
    const Ending ending =
        run_program(std::string(SKEP_BINARIES) + "/" + arguments + " " + checkpoint, scratch);
    INFO(arguments << ": " << ending.err);
    CHECK(ending.code == 0);
    CHECK_FALSE(ending.out.empty());
    return ending.out;
  };
  const std::string text = scratch.path + "/text.txt";
  for (const std::string& command :
       {std::string("generate --prompt-ids 1,2,3 --ids --tokens 20 --model"),
        std::string("generate --prompt a --tokens 20 --seed 3 --model"),
        "evaluate --data " + text + " --model", std::string("inspect shapes --model"),
        "tokenize ids " + text + " --tokenizer"}) {
    INFO(command);
    CHECK(output(command, step_of(scratch, "diff", 5)) ==
          output(command, step_of(scratch, "full", 5)));
  }
  // Another step's weights write something else, or this proves nothing.
  const std::string losses = "evaluate --data " + text + " --model";
  CHECK(output(losses, step_of(scratch, "diff", 4)) != output(losses, step_of(scratch, "diff", 5)));
}

TEST_CASE("base_diff: a broken chain is one line with the link and exit code 3; auto skips it") {
  const ScratchFolder scratch;
  const std::string run = small_run(scratch, "run", 4) + diffs;
  REQUIRE(run_ranked(2, run, scratch).code == 0);
  const std::string last = step_of(scratch, "run", 4);
  fs::remove_all(step_of(scratch, "run", 3));
  const std::string text = scratch.path + "/text.txt";
  const std::vector<std::pair<int, std::string>> commands = {
      {1, "generate --prompt-ids 1 --tokens 1 --model " + last},
      {2, "evaluate --data " + text + " --model " + last},
      {1, "inspect shapes --model " + last},
      {1, "tokenize ids " + text + " --tokenizer " + last},
      {2, run + " --run.resume " + last}};
  for (const auto& [ranks, command] : commands) {
    const std::string program = std::string(SKEP_BINARIES) + "/" + command;
    const Ending ending =
        ranks == 1 ? run_program(program, scratch) : run_ranked(ranks, command, scratch);
    INFO(command << "\n" << ending.err);
    CHECK(ending.code == 3);
    CHECK(lines_of(ending.err).size() == 1);
    CHECK_THAT(ending.err, Catch::Contains("step-4: ") &&
                               Catch::Contains("step-3, on which it builds, is missing"));
  }
  const Ending ending = run_ranked(2, run + " --run.resume auto", scratch);
  INFO(ending.out << ending.err);
  CHECK(ending.code == 0);
  CHECK_THAT(ending.out, Catch::Contains("skipping checkpoint " + last + ": step-3, on which") &&
                             Catch::Contains("at step 2"));
}
