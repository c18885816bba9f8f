#include <catch2/catch.hpp>

#include "tests/train/helpers.h"
#include "train/config.h"

using namespace skep;
using Catch::Contains;

namespace {

Config valid_config() {
  Config config;
  config.data.train = "input.txt";
  return config;
}

}  // namespace

TEST_CASE("validate: what no single key can tell") {
  const auto error = [](auto change, std::int64_t ranks) {
    Config config = valid_config();
    change(config);
    return error_of(ErrorKind::usage, [&] { validate(config, ranks); });
  };
  CHECK_NOTHROW(validate(valid_config(), 1));
  CHECK_NOTHROW(validate(valid_config(), 4));
  CHECK_THAT(error([](Config& c) { c.data.train.clear(); }, 1), Contains("--data.train FILE"));
  CHECK(
      error([](Config& c) { c.model.heads = 3; }, 1) ==
      "model.heads 3 does not divide model.width 128; the nearest widths that do are 126 and 129");
  CHECK(error([](Config&) {}, 5) ==
        "batch.global_batch 12 does not divide among 5 ranks; the nearest sizes that do are 10 and "
        "15");
  CHECK(error([](Config&) {}, 13) ==
        "batch.global_batch 12 does not divide among 13 ranks; the nearest sizes that do are 13");
  CHECK(error([](Config& c) { c.batch.micro_batch = 4; }, 2) ==
        "batch.global_batch 12 does not divide into micro-batches of 4 on 2 ranks; the nearest "
        "sizes that do are 8 and 16");
  const auto rising = [](Config& c) {
    c.schedule.kind = "cosine";
    c.optim.min_lr = 1;
  };
  CHECK_THAT(error(rising, 1), Contains("optim.min_lr 1 is larger than optim.lr 0.001"));
}

TEST_CASE("split_batch: the same global batch at 1, 2, 3 and 4 ranks") {
  const auto describe = [](std::int64_t micro_batch, std::int64_t ranks) {
    const BatchSplit split = split_batch({12, micro_batch}, ranks);
    CHECK(split.global_batch() == 12);
    return split.describe();
  };
  CHECK(describe(1, 2) == "12 sequences = 2 ranks x 1 micro-batch x 6");
  CHECK(describe(0, 1) == "12 sequences = 1 rank x 12 micro-batch x 1");
  CHECK(describe(2, 3) == "12 sequences = 3 ranks x 2 micro-batch x 2");
  CHECK(describe(0, 4) == "12 sequences = 4 ranks x 3 micro-batch x 1");
}

TEST_CASE(
    "a cycle in steps is a whole number of them; a temperature stays within what can be added") {
  Config config;
  config.data.train = "text.txt";
  config.schedule.kind = "step";
  config.schedule.cycle = 2.5;
  CHECK_THROWS_WITH(validate(config, 1), Catch::Contains("must be a whole number of steps"));
  config.schedule.unit = "epochs";
  CHECK_NOTHROW(validate(config, 1));
  CHECK_NOTHROW(read_toml(config, "[loss]\ntemperature = -100", "a.toml"));
  CHECK_THROWS_WITH(read_toml(config, "[loss]\ntemperature = 101", "a.toml"),
                    Catch::Contains("from -100 to 100"));
}
