#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "train/schedule/lr_schedule.h"

using namespace skep;

namespace {

ScheduleSettings with(double lr, double min_lr, std::int64_t warmup, std::int64_t decay_steps,
                      std::int64_t cycle = 0, double cycle_mult = 1) {
  return {{lr, 0, 0}, min_lr, warmup, decay_steps, cycle, cycle_mult};
}

}  // namespace

TEST_CASE("lr_schedule: constant rises linearly and stays") {
  const auto schedule = make_constant_lr(with(0.01, 0, 4, 0));
  CHECK(schedule->at(0) == Approx(0.002));  // 0.01 · 1/5
  CHECK(schedule->at(1) == Approx(0.004));
  CHECK(schedule->at(3) == Approx(0.008));
  CHECK(schedule->at(4) == 0.01);
  CHECK(schedule->at(1'000'000) == 0.01);
  CHECK(make_constant_lr(with(0.01, 0, 0, 0))->at(0) == 0.01);
}

TEST_CASE("lr_schedule: cosine at points with known cosines") {
  // Warmup 100, decay until 2000: nanoGPT's character recipe, 1e-3 down to 1e-4.
  const auto schedule = make_cosine_lr(with(1e-3, 1e-4, 100, 2000));
  CHECK(schedule->at(0) == Approx(1e-3 / 101));
  CHECK(schedule->at(99) == Approx(1e-3 * 100 / 101));
  CHECK(schedule->at(100) == Approx(1e-3));
  CHECK(schedule->at(575) == Approx(1e-4 + 0.5 * (1 + 0.70710678118654752) * 9e-4));  // cos 45°
  CHECK(schedule->at(1050) == Approx(5.5e-4));                                        // cos 90°
  CHECK(schedule->at(1525) == Approx(1e-4 + 0.5 * (1 - 0.70710678118654752) * 9e-4));
  CHECK(schedule->at(2000) == 1e-4);
  CHECK(schedule->at(1'000'000) == 1e-4);
}

TEST_CASE("lr_schedule: a warmup longer than the decay never divides by zero") {
  const auto schedule = make_cosine_lr(with(1.0, 0.25, 10, 10));
  CHECK(schedule->at(9) == Approx(10.0 / 11));
  CHECK(schedule->at(10) == 0.25);
  CHECK(make_cosine_lr(with(1.0, 0.25, 0, 0))->at(0) == 0.25);
}

TEST_CASE("lr_schedule: wsd holds, then falls in a straight line") {
  const auto schedule = make_wsd_lr(with(1.0, 0.2, 10, 110, 40));
  CHECK(schedule->at(10) == 1.0);
  CHECK(schedule->at(70) == 1.0);
  CHECK(schedule->at(80) == Approx(0.2 + 0.8 * 0.75));
  CHECK(schedule->at(90) == Approx(0.6));
  CHECK(schedule->at(110) == 0.2);
  CHECK(schedule->at(111) == 0.2);
}

TEST_CASE("lr_schedule: step divides by ten after each cycle") {
  const auto schedule = make_step_lr(with(1.0, 1e-3, 0, 0, 10));
  CHECK(schedule->at(9) == 1.0);
  CHECK(schedule->at(10) == Approx(0.1));
  CHECK(schedule->at(25) == Approx(0.01));
  CHECK(schedule->at(1000) == 1e-3);
}

TEST_CASE("lr_schedule: warm restarts at published points") {
  const auto doubling = make_warm_restarts_lr(with(0.5, 0, 0, 0, 1, 2));
  const std::vector<double> expected = {.5, .5, .25, .5, .42678, .25, .07322, .5, .48097};
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(doubling->at(static_cast<std::int64_t>(i)) == Approx(expected[i]).epsilon(1e-4));
  CHECK(make_warm_restarts_lr(with(1e-3, 0, 0, 0, 10, 2))->at(75) ==
        Approx(9.903926e-4).epsilon(1e-7));
  // Cycles of 1, 3, 9, 27, 81 steps: the sixth begins at 121.
  CHECK(make_warm_restarts_lr(with(1e-3, 0, 0, 0, 1, 3))->at(121) == 1e-3);
  const auto after_warmup = make_warm_restarts_lr(with(1.0, 0.1, 5, 0, 10));
  CHECK(after_warmup->at(5) == 1.0);
  CHECK(after_warmup->at(10) == Approx(0.55));
  CHECK(after_warmup->at(15) == 1.0);
}

TEST_CASE("lr_schedule: where cycles end, and the jitter they had") {
  ScheduleSettings settings = with(2.0, 0, 5, 0, 10, 2);
  settings.peak.jitter = 0.1;
  settings.peak.seed = 3;
  for (const auto& schedule : {make_warm_restarts_lr(settings), make_step_lr(settings)}) {
    std::vector<std::int64_t> steps, indices;
    for (std::int64_t step = 0; step <= 80; ++step) {
      const auto ended = schedule->ended_before(step);
      if (!ended) continue;
      steps.push_back(step);
      indices.push_back(ended->index);
    }
    CHECK(steps == std::vector<std::int64_t>{15, 35, 75});  // 5 + 10 (2^k - 1)
    CHECK(indices == std::vector<std::int64_t>{0, 1, 2});
  }
  // The highest rate of the second cycle is that of its first step.
  const auto schedule = make_warm_restarts_lr(settings);
  CHECK(schedule->at(15) == Approx(2 * (1 + schedule->ended_before(35)->jitter)).epsilon(1e-15));
  CHECK(schedule->ended_before(35)->jitter != 0);
  settings.peak.jitter = 0;
  CHECK(make_warm_restarts_lr(settings)->ended_before(15)->jitter == 0);
  for (const auto& other : {make_constant_lr(settings), make_wsd_lr(settings)})
    CHECK_FALSE(other->ended_before(15));
}

TEST_CASE("lr_schedule: jitter moves each cycle's peak within its bounds, by the seed alone") {
  ScheduleSettings settings = with(1.0, 0, 0, 0, 10);
  settings.peak.jitter = 0.05;
  settings.peak.seed = 7;
  const auto schedule = make_warm_restarts_lr(settings), again = make_warm_restarts_lr(settings);
  settings.peak.seed = 8;
  const auto other = make_warm_restarts_lr(settings);
  std::set<double> peaks;
  double mean = 0;
  for (int i = 0; i < 400; ++i) {
    const double peak = schedule->at(10 * i);
    CHECK(std::abs(peak - 1) <= 0.05);
    CHECK(again->at(10 * i) == peak);
    CHECK(schedule->at(10 * i + 5) == Approx(peak / 2));
    peaks.insert(peak);
    mean += peak / 400;
  }
  CHECK(peaks.size() == 400);
  CHECK(std::abs(mean - 1) < 5 * 0.05 / std::sqrt(3 * 400.0));  // 5 standard errors
  CHECK(other->at(0) != schedule->at(0));
  settings.cycle = 0;
  CHECK(make_constant_lr(settings)->at(0) == make_constant_lr(settings)->at(1'000'000));
}
