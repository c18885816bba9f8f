// Room for checkpoints on the disk: how much one takes, how many exist at once, and what is said.
#include <catch2/catch.hpp>
#include <limits>

#include "helpers.h"
#include "train/checkpoint/room.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

std::uintmax_t bytes_below(const std::string& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

Config saving(std::int64_t steps, std::int64_t every, std::int64_t keep) {
  Config config;
  config.run.steps = steps;
  config.checkpoint.every = every;
  config.checkpoint.keep = keep;
  return config;
}

}  // namespace

TEST_CASE("room: the size foretold is that of the checkpoint, however the ranks share it") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 2;
  config.model.width = 64;
  const auto [rule, kind] = GENERATE(table<std::string, std::string>(
      {{"every_step", "adamw"}, {"every_step", "sgd"}, {"local_sgd", "adamw"}}));
  config.sync.rule = rule;
  config.optim.kind = kind;
  double foretold = 0;
  run_ranks(2, [&](Communicator& comm) {
    Parts parts = build_parts(config, comm);
    Trainer trainer(parts, build_limits(config));
    if (comm.rank() == 0) foretold = trainer.checkpoint_bytes();
    trainer.run();
  });
  const auto written = static_cast<double>(bytes_below(config.run.dir + "/ckpt/step-2"));
  INFO(rule << " " << kind << ": foretold " << foretold << ", written " << written);
  CHECK(written == Approx(foretold).epsilon(0.03));  // headers and texts come on top
  CHECK(written >= foretold);
}

TEST_CASE("room: while one checkpoint is written, those that are kept still exist") {
  CHECK(added_checkpoints(saving(100, 0, 3), 0, 0) == 1);   // at the end
  CHECK(added_checkpoints(saving(100, 50, 3), 0, 0) == 2);  // 50, 100
  CHECK(added_checkpoints(saving(100, 10, 3), 0, 0) == 4);  // three are kept, one is written
  CHECK(added_checkpoints(saving(100, 10, 1), 0, 0) == 2);
  CHECK(added_checkpoints(saving(100, 40, 3), 0, 0) == 3);   // 40, 80, 100
  CHECK(added_checkpoints(saving(100, 10, 3), 40, 3) == 1);  // as many as are kept exist already
  CHECK(added_checkpoints(saving(100, 10, 3), 40, 1) == 3);
  CHECK(added_checkpoints(saving(100, 10, 3), 80, 1) == 2);  // 90, 100
  CHECK(added_checkpoints(saving(100, 10, 1), 40, 9) == 1);  // kept by an earlier run
  CHECK(added_checkpoints(saving(100, 10, 3), 100, 1) == 0);
  CHECK(added_checkpoints(saving(0, 10, 3), 0, 0) == 1);  // step-0
  const auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(added_checkpoints(saving(most, 1, most), 0, 0) == most);
  // The oldest kept may be the last of a chain.
  Config chains = saving(100, 10, 1);
  chains.checkpoint.kind = "base_diff";
  chains.checkpoint.max_diffs = 3;
  CHECK(added_checkpoints(chains, 0, 0) == 5);
  chains.checkpoint.keep = most;
  CHECK(added_checkpoints(chains, 0, 0) == 10);
}

TEST_CASE("room: nothing is said where there is enough, a warning where one fits, else an error") {
  CHECK(find_lack_of_room("ckpt", 400e6, 100e6, 4).empty());
  CHECK(find_lack_of_room("ckpt", {}, 100e6, 4).empty());  // a file system that does not tell
  CHECK(find_lack_of_room("ckpt", 0.0, 100e6, 0).empty());
  const std::string warning = find_lack_of_room("ckpt", 399e6, 100e6, 4);
  CHECK_THAT(warning, Catch::StartsWith("ckpt: a checkpoint takes about 100 MB, 4 more are") &&
                          Catch::Contains("399 MB are free") && Catch::Contains("checkpoint.keep"));
  CHECK(warning.find('\n') == std::string::npos);
  CHECK_THAT(error_of(ErrorKind::storage, [] { find_lack_of_room("ckpt", 99e6, 100e6, 1); }),
             Catch::Contains("100 MB") && Catch::Contains("99 MB are free there: make room"));
}

TEST_CASE("room: free bytes are found for folders that are not there yet") {
  const ScratchFolder scratch;
  CHECK(nearest_existing(scratch.path + "/not/yet/../there") == scratch.path);
  const auto here = free_bytes(scratch.path), below = free_bytes(scratch.path + "/not/yet");
  REQUIRE(here);
  REQUIRE(below);
  CHECK(*here > 0);
  CHECK(*below == Approx(*here).epsilon(0.1));  // others write there too
}
