// bench: the measured step is a real training step, and the program reports it.
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/backends/backend.h"
#include "engine/kernels/copy.h"
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

TEST_CASE("a steady step takes no memory from the system") {
  const DType compute = GENERATE(DType::f32, DType::bf16);
  TrainingStep step(BenchPreset{"tiny", 2, 2, 32, 17, 32, 2, 65}, compute);
  for (int i = 0; i < 3; ++i) step.run();
  const MemoryUse before = backend({}).memory();
  for (int i = 0; i < 1000; ++i) step.run();
  const MemoryUse after = backend({}).memory();
  CHECK(after.reserved == before.reserved);
  CHECK(after.in_use == before.in_use);
}

TEST_CASE("products are counted as they run") {
  const double before = backend({}).product_flops();
  const Tensor a = zeros({3, 4}), b = zeros({4, 5}), c = zeros({3, 5});
  backend({}).gemm(as_matrix(a), as_matrix(b), as_matrix(c), {});
  CHECK(backend({}).product_flops() - before == 2 * 3 * 4 * 5);
}
