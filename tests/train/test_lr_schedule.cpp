#include <catch2/catch.hpp>

#include "train/schedule/lr_schedule.h"

using namespace skep;

TEST_CASE("lr_schedule: constant rises linearly and stays") {
  const ConstantLr schedule(0.01, 4);
  CHECK(schedule.at(0) == Approx(0.002));  // 0.01 · 1/5
  CHECK(schedule.at(1) == Approx(0.004));
  CHECK(schedule.at(3) == Approx(0.008));
  CHECK(schedule.at(4) == 0.01);
  CHECK(schedule.at(1'000'000) == 0.01);
  CHECK(ConstantLr(0.01, 0).at(0) == 0.01);
}

TEST_CASE("lr_schedule: cosine at points with known cosines") {
  // Warmup 100, decay until 2000: nanoGPT's character recipe, 1e-3 down to 1e-4.
  const CosineLr schedule(1e-3, 1e-4, 100, 2000);
  CHECK(schedule.at(0) == Approx(1e-3 / 101));
  CHECK(schedule.at(99) == Approx(1e-3 * 100 / 101));
  CHECK(schedule.at(100) == Approx(1e-3));
  CHECK(schedule.at(575) == Approx(1e-4 + 0.5 * (1 + 0.70710678118654752) * 9e-4));  // cos 45°
  CHECK(schedule.at(1050) == Approx(5.5e-4));                                        // cos 90°
  CHECK(schedule.at(1525) == Approx(1e-4 + 0.5 * (1 - 0.70710678118654752) * 9e-4));
  CHECK(schedule.at(2000) == 1e-4);
  CHECK(schedule.at(2001) == 1e-4);
  CHECK(schedule.at(1'000'000) == 1e-4);
}

TEST_CASE("lr_schedule: a warmup longer than the decay never divides by zero") {
  const CosineLr schedule(1.0, 0.25, 10, 10);
  CHECK(schedule.at(9) == Approx(10.0 / 11));
  CHECK(schedule.at(10) == 0.25);
  CHECK(CosineLr(1.0, 0.25, 0, 0).at(0) == 0.25);
}
