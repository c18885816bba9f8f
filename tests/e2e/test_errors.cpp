// Wrong input to the shipped train binary, at 1 and 3 ranks: one line, the documented exit code,
// all ranks gone quickly.
#include <catch2/catch.hpp>

#include "program.h"

using namespace skep;
using namespace skep::test;

namespace {

struct Case {
  std::string flags;  // added to a run that would work; {} is the scratch folder
  int code;
  std::string says;
};

std::string filled(std::string text, const std::string& folder) {
  for (std::size_t at; (at = text.find("{}")) != std::string::npos;) text.replace(at, 2, folder);
  return text;
}

}  // namespace

TEST_CASE("train: every mistake ends all ranks with one line and its code") {
  const ScratchFolder scratch;
  write_file(scratch.path + "/empty", "");
  write_file(scratch.path + "/tiny", "abc");
  write_file(scratch.path + "/odd.bin", "abc");
  write_file(scratch.path + "/file", "in the way");
  write_file(scratch.path + "/bad.toml", "[optim]\nlr = 1e-3\nlearning_rate = 3\n");
  const Case c = GENERATE(values<Case>({
      {"--optim.lrr 1", 2, "optim.lr"},
      {"--optim.lr fast", 2, "optim.lr"},
      {"--config {}/bad.toml", 2, "bad.toml:3"},
      {"--config {}/none.toml", 2, "none.toml"},
      {"--batch.global_batch 7 --batch.micro_batch 2", 2, "global_batch"},
      {"--model.heads 5", 2, "heads"},
      {"--optim.max_norm -1", 2, "max_norm"},
      {"--comm.topology star", 2, "topology"},
      {"--data.train {}/none", 3, "none"},
      {"--data.train {}/empty", 3, "empty"},
      {"--data.train {}/tiny", 3, "tiny"},
      {"--data.train {}/odd.bin --data.tokenizer byte", 3, "odd.bin"},
      {"--data.train {}", 3, "directory"},
      {"--run.dir {}/file/run", 5, "file"},
      {"--run.resume {}/nowhere", 3, "nowhere"},
      {"--checkpoint.dir {}/file", 5, "file"},
      {"--run.name ../x", 2, "run.name"},
      {"--model.width 100000", 2, "GB"},
      {"--optim.lr 1e30 --run.steps 60", 4, "not finite"},
  }));
  const int ranks = GENERATE(1, 3);
  const Ending ending = run_ranked(
      ranks, small_run(scratch, "run", 2) + " " + filled(c.flags, scratch.path), scratch);
  INFO(c.flags << " at " << ranks << " ranks: code " << ending.code << ", stderr:\n" << ending.err);
  CHECK(ending.code == c.code);
  CHECK(lines_of(ending.err).size() == 1);
  CHECK_THAT(ending.err, Catch::Contains(c.says));
  CHECK(ending.seconds < 10);
}

TEST_CASE("train: a full disk ends the run with code 5 and keeps what was there") {
  const ScratchFolder scratch;
  REQUIRE(run_ranked(2, small_run(scratch, "run", 2), scratch).code == 0);
  // A limit on file sizes fails the checkpoint's write the way a full disk does. Open MPI's own
  // files (shared memory) must stay out of its way.
  const std::string limited =
      std::string(MPIEXEC) +
      " -q -np 2 --mca btl self,tcp -x PMIX_MCA_gds=hash sh -c 'ulimit -f 64; exec " +
      SKEP_BINARIES + "/" + small_run(scratch, "run", 4) + " --run.resume auto'";
  const Ending ending = run_program(limited, scratch);
  INFO(ending.out << ending.err);
  CHECK(ending.code == 5);
  CHECK(lines_of(ending.err).size() == 1);
  CHECK(std::filesystem::exists(scratch.path + "/run/ckpt/step-2/manifest.json"));
  CHECK_FALSE(std::filesystem::exists(scratch.path + "/run/ckpt/step-4"));
}
