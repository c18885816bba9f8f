// Chaotic sharding under real mpirun: a run that draws its seed can be repeated and continued.
#include <catch2/catch.hpp>

#include "program.h"
#include "train/config.h"

using namespace skep;
using namespace skep::test;

namespace {

std::string weights(const ScratchFolder& scratch, const std::string& run, int step) {
  return read_file(scratch.path + "/" + run + "/ckpt/step-" + std::to_string(step) +
                   "/model/model.safetensors");
}

std::int64_t recorded_seed(const ScratchFolder& scratch, const std::string& run) {
  Config config;
  const std::string path = scratch.path + "/" + run + "/config.toml";
  read_toml(config, read_file(path), path);
  return config.data.chaos_seed;
}

}  // namespace

TEST_CASE("chaos: a run that drew its seed is repeated by its config.toml, byte for byte") {
  const ScratchFolder scratch;
  const std::string chaos = " --data.sharding chaos --data.common_fraction 0.3";
  const Ending drawn = run_ranked(3, small_run(scratch, "drawn", 8) + chaos, scratch);
  INFO(drawn.out << drawn.err);
  REQUIRE(drawn.code == 0);
  const std::int64_t seed = recorded_seed(scratch, "drawn");
  CHECK(seed > 0);
  const std::string told = "by the seed " + std::to_string(seed);
  CHECK_THAT(drawn.out, Catch::Contains(told));
  CHECK_THAT(read_file(scratch.path + "/drawn/log.rank-2"), Catch::Contains(told));
  const auto state =
      nlohmann::json::parse(read_file(scratch.path + "/drawn/ckpt/step-8/state.json"));
  CHECK(state.at("chaos_seed").get<std::int64_t>() == seed);

  const std::string recorded = "train --config " + scratch.path + "/drawn/config.toml --run.dir ";
  REQUIRE(run_ranked(3, recorded + scratch.path + "/again", scratch).code == 0);
  CHECK(weights(scratch, "again", 8) == weights(scratch, "drawn", 8));
  REQUIRE(run_ranked(3, small_run(scratch, "another", 8) + chaos, scratch).code == 0);
  CHECK(recorded_seed(scratch, "another") != seed);
  CHECK(weights(scratch, "another", 8) != weights(scratch, "drawn", 8));

  // Given no seed, a run that goes on takes that of its checkpoint; with other ranks it cannot.
  const std::string part = recorded + scratch.path + "/parts";
  REQUIRE(run_ranked(3, part + " --run.steps 5", scratch).code == 0);
  const std::string rest = small_run(scratch, "parts", 8) + chaos + " --run.resume auto";
  const Ending fewer = run_ranked(2, rest, scratch);
  CHECK(fewer.code == 3);
  CHECK_THAT(fewer.err, Catch::Contains("to 3 ranks, not to 2: resume with 3 ranks"));
  REQUIRE(run_ranked(3, rest, scratch).code == 0);
  CHECK(recorded_seed(scratch, "parts") == seed);
  CHECK(weights(scratch, "parts", 8) == weights(scratch, "drawn", 8));
}
