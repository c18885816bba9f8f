// bench: the measured step is a real training step, and the program reports it.
#include <catch2/catch.hpp>
#include <cmath>

#include "tools/bench/training_step.h"

using namespace skep;

TEST_CASE("the measured step learns its batch and counts its work") {
  BenchPreset tiny{"tiny", 2, 2, 32, 17, 32, 2, 16};
  TrainingStep step(tiny);
  const double first = step.run();
  CHECK(first == Approx(std::log(17)).epsilon(0.05));  // a fresh model knows nothing
  for (int i = 0; i < 30; ++i) step.run();
  CHECK(step.run() < 0.7 * first);
  // 6 (12 L C^2 + V C) per token, and 7 L C T per token of attention.
  CHECK(step.flops() == 32 * (6.0 * (12 * 2 * 32 * 32 + 17 * 32) + 7.0 * 2 * 32 * 16));
}

TEST_CASE("presets are the published sizes; a wrong name lists them") {
  CHECK(find_preset("gpt64").layers == 12);
  CHECK_THROWS_WITH(find_preset("huge"), Catch::Contains("small, mid, gpt64, gpt256"));
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
}
