// What ranks use, side by side: the spread, stragglers, memory; warnings that repeat; and that
// looking changes nothing.
#include <catch2/catch.hpp>
#include <ctime>
#include <random>

#include "train/observe/monitor.h"
#include "train/observe/rank_log.h"
#include "train/observe/repeats.h"
#include "train/observe/resources.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

using Seconds = std::vector<double>;

// What rank 0 saw of some steps in which rank r computed for seconds(r).
struct Watched {
  std::vector<StepReport> reports;
  std::vector<std::vector<std::string>> warnings;
};

Watched watch(int ranks, int steps, std::int64_t every, const std::function<double(int)>& seconds,
              const std::function<doctor::Memory(int)>& memory, double step_seconds = 1) {
  Watched watched;
  run_ranks(ranks, [&](Communicator& comm) {
    Monitor monitor(comm, every, [&] { return memory(comm.rank()); });
    for (int step = 1; step <= steps; ++step) {
      StepReport report;
      report.step = step;
      report.compute_seconds = seconds(comm.rank());
      report.loader_wait_seconds = 0.01;
      report.comm_wait_seconds = step_seconds - 0.01 - report.compute_seconds;
      const std::vector<std::string> warnings = monitor.look(report);
      if (comm.rank() != 0) continue;
      watched.reports.push_back(report);
      watched.warnings.push_back(warnings);
    }
  });
  return watched;
}

doctor::Memory plenty(int) { return {5e9, 8e9}; }

}  // namespace

TEST_CASE("straggler: named after three looks in a row, once, and again after it caught up") {
  StragglerWatch watch;
  const Seconds slow{1.0, 1.3, 1.1}, even{1.0, 1.05, 1.1};
  CHECK(watch.look(slow).empty());
  CHECK(watch.look(slow).empty());
  const auto found = watch.look(slow);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rank == 1);
  CHECK(found[0].compute_seconds == 1.3);
  CHECK(found[0].others_compute_seconds == Approx(1.05));
  CHECK(watch.look(slow).empty());
  CHECK(watch.look(even).empty());
  CHECK(watch.look(slow).empty());
  CHECK(watch.look(slow).empty());
  CHECK(watch.look(slow).size() == 1);
}

TEST_CASE("straggler: two slow ranks of five are both found, of two the slower one") {
  StragglerWatch five, two;
  std::vector<Straggler> of_five, of_two;
  for (int i = 0; i < 3; ++i) of_five = five.look(Seconds{2, 1, 1, 1, 3});
  for (int i = 0; i < 3; ++i) of_two = two.look(Seconds{1, 1.25});
  REQUIRE(of_five.size() == 2);
  CHECK(of_five[0].rank == 0);
  CHECK(of_five[1].rank == 4);
  REQUIRE(of_two.size() == 1);
  CHECK(of_two[0].rank == 1);
}

TEST_CASE("straggler: no alarm for one rank, tiny steps, outliers or noise") {
  StragglerWatch alone, tiny, outliers, noisy;
  std::mt19937 random(1);
  std::normal_distribution<double> noise(1, 0.08);
  for (int i = 0; i < 1000; ++i) {
    CHECK(alone.look(Seconds{5}).empty());
    CHECK(tiny.look(Seconds{1e-4, 9e-4}).empty());
    CHECK(outliers.look(Seconds{1, 1, i % 3 == 0 ? 1.0 : 5.0}).empty());
    Seconds all(8);
    for (double& seconds : all) seconds = noise(random);
    CHECK(noisy.look(all).empty());
  }
}

TEST_CASE("monitor: the spread over ranks, at the steps that are due") {
  const Watched seen = watch(
      4, 6, 3, [](int rank) { return 0.1 * (rank + 1); }, plenty);
  for (std::size_t i = 0; i < 6; ++i) CHECK(seen.reports[i].over_ranks.empty() == (i % 3 != 2));
  for (const Spread& spread : seen.reports[5].over_ranks) {
    INFO(spread.name);
    CHECK(spread.min <= spread.median);
    CHECK(spread.median <= spread.max);
    if (spread.name == "compute_s") {
      CHECK(spread.min == Approx(0.1));
      CHECK(spread.median == Approx(0.25));
      CHECK(spread.max == Approx(0.4));
    }
    if (spread.name == "comm_wait_s") CHECK(spread.median == Approx(0.74));
    if (spread.name == "loader_wait_s") CHECK(spread.max == Approx(0.01));
    if (spread.name == "rss_bytes") CHECK(spread.min > 1e6);
  }
  CHECK(seen.reports[5].over_ranks.size() == 6);
  CHECK(seen.reports[0].peak_rss_bytes >= seen.reports[0].rss_bytes);
}

TEST_CASE("monitor: a slow rank is named with its host and how much longer it computes") {
  const std::int64_t every = GENERATE(1, 5, 10);
  const Watched seen = watch(
      3, 60, every, [](int rank) { return rank == 2 ? 0.4 : 0.3; }, plenty);
  std::vector<std::string> warnings;
  for (const auto& step : seen.warnings)
    for (const std::string& text : step) warnings.push_back(text);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::StartsWith("rank 2 (") &&
                              Catch::Contains("computes 0.4 s a step, the others 0.3 s") &&
                              Catch::Contains("33 % longer"));
  CHECK(seen.warnings[29].size() == 1);  // three times ten steps
}

TEST_CASE("monitor: steps of a moment are looked at for a while before a rank is called slow") {
  // 30 steps of 0.05 s, in which one of the ranks happens to compute longer.
  const auto seconds = [](int rank) { return rank == 2 ? 0.04 : 0.03; };
  const Watched brief = watch(3, 30, 10, seconds, plenty, 0.05);
  for (const auto& step : brief.warnings) CHECK(step.empty());
  const Watched longer = watch(3, 400, 10, seconds, plenty, 0.05);  // 20 s: three times five
  CHECK(std::count(longer.warnings.begin(), longer.warnings.end(), std::vector<std::string>{}) ==
        399);
}

TEST_CASE("monitor: a host short of memory is told of once, on all ranks") {
  const auto run_out = [](int rank) { return doctor::Memory{rank == 1 ? 3.9e8 : 9e8, 8e9}; };
  const Watched seen = watch(
      3, 4, 1, [](int) { return 0.5; }, run_out);
  REQUIRE(seen.warnings[0].size() == 1);
  CHECK_THAT(seen.warnings[0][0],
             Catch::Contains("running out of memory: 0.39 of 8.00 GB are left"));
  for (std::size_t i = 1; i < 4; ++i) CHECK(seen.warnings[i].empty());
  const auto enough = [](int) { return doctor::Memory{4.1e8, 8e9}; };
  CHECK(watch(
            3, 1, 1, [](int) { return 0.5; }, enough)
            .warnings[0]
            .empty());
}

TEST_CASE("memory: what this machine tells about itself makes sense") {
  const doctor::Memory memory = doctor::find_memory();
  CHECK(memory.available_bytes > 1e6);
  CHECK(memory.total_bytes >= memory.available_bytes);
  CHECK(memory.total_bytes < 1e17);
}

TEST_CASE("resources: memory that is touched and CPU time that is spent are seen") {
  const std::int64_t memory = resident_bytes();
  {
    const std::vector<char> touched(64 << 20, 1);
    CHECK(resident_bytes() - memory > (60 << 20));
  }
  CHECK(peak_resident_bytes() - memory > (60 << 20));
  const double cpu = cpu_seconds();
  for (const std::clock_t start = std::clock(); std::clock() - start < CLOCKS_PER_SEC / 10;) {
  }
  CHECK(cpu_seconds() - cpu > 0.09);
}

TEST_CASE("repeats: told the 1st, 10th, 100th time, and the rest in the end") {
  Repeats repeats;
  std::vector<std::string> told;
  for (int step = 1; step <= 38; ++step)
    if (const std::string line = repeats.add(step, "no update"); !line.empty())
      told.push_back(line);
  CHECK(told ==
        std::vector<std::string>{"step 1: no update", "step 10: no update (repeated 9 times)"});
  CHECK(repeats.add(39, "other") == "step 39: other");
  CHECK(repeats.untold() ==
        std::vector<std::string>{"no update (repeated 37 times, the last at step 38)"});
}

TEST_CASE("rank log: times, levels, and a line for what the monitor saw") {
  const ScratchFolder scratch;
  {
    const auto log = make_rank_log(scratch.path, 3);
    log->on_message("hello\nthere");
    log->on_warning("careful");
    StepReport report;
    report.step = 7;
    log->on_step(report);
    report.step = 8;
    report.rss_bytes = 12'000'000;
    report.over_ranks = {{"compute_s", 1, 2, 3}};
    log->on_step(report);
  }
  const std::string text = read_file(scratch.path + "/log.rank-3");
  const std::string time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z ";
  CHECK_THAT(text, Catch::Matches(time + "INFO hello\n" + time + "INFO there\n" + time +
                                  "WARN careful\n" + time + "INFO step 8: loss .* 12 MB .*\n"));
}

TEST_CASE("watching a run closely changes no bit of what it trains") {
  const int ranks = GENERATE(1, 3);
  const ScratchFolder scratch;
  Config off = small_config(scratch.path);
  off.model.dropout = 0.1;
  off.run.log_every = 1000;
  off.run.progress = "off";
  off.comm.hash_every = 0;
  Config on = off;
  on.run.dir = scratch.path + "/watched";
  on.run.log_every = 1;
  on.run.eval_every = 3;
  on.run.eval_batches = 1;
  on.comm.hash_every = 2;
  on.observe = {true, true, "cat > " + scratch.path + "/piped"};
  make_directories(on.run.dir);
  std::int64_t probed = 0;
  const Recording plain = train(off, ranks);
  const Recording watched = train(on, ranks, "", [&](Parts& parts) {
    add_observers(parts, on, 0);
    auto probe = std::make_shared<Probe>();
    if (parts.comm.rank() == 0)
      probe->forward = [&](const std::string&, const Tensor&, const Tensor& out) {
        probed += out.numel();
      };
    parts.model->attach(probe);
  });
  CHECK(watched.final_values == plain.final_values);
  CHECK(watched.validations.size() == 7);
  CHECK(plain.validations.size() == 1);
  CHECK(probed > 0);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(watched.steps[i].loss == plain.steps[i].loss);
    CHECK(watched.steps[i].grad_norm == plain.steps[i].grad_norm);
    CHECK(watched.steps[i].over_ranks.size() == 6);
  }
  CHECK(std::filesystem::file_size(on.run.dir + "/metrics.csv") > 0);
  CHECK(read_file(scratch.path + "/piped") == read_file(on.run.dir + "/metrics.jsonl"));
}
