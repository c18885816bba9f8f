// Rules that meet now and then: accumulate and diloco. Periods, what they compute, what they send,
// and that stopping in the middle changes nothing.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "engine/kernels/copy.h"
#include "engine/ops/ops.h"
#include "train/hash.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

Config with_rule(const std::string& folder, const std::string& rule, std::int64_t period) {
  Config config = small_config(folder);
  config.run.steps = 12;
  config.checkpoint.dir = folder + "/ckpt";
  config.sync.rule = rule;
  config.sync.period = period;
  return config;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

/// The steps after which rank 0 had sent more than the few numbers of a report.
std::vector<std::int64_t> meetings(const Recording& run) {
  std::vector<std::int64_t> steps;
  std::int64_t before = run.steps.front().step == 1 ? 0 : run.steps.front().bytes_sent;
  for (const StepReport& step : run.steps) {
    if (step.bytes_sent - before > 10000) steps.push_back(step.step);
    before = step.bytes_sent;
  }
  return steps;
}

/// Spoils the loss of one rank at some micro-batches, counted from 0.
struct Spoiled final : Objective {
  std::unique_ptr<Objective> inner;
  std::int64_t from, until, calls = 0;
  Spoiled(std::unique_ptr<Objective> o, std::int64_t first, std::int64_t end)
      : inner(std::move(o)), from(first), until(end) {}
  Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
    const Tensor sum = inner->loss(model, batch, pass);
    if (pass.mode != Pass::Mode::train) return sum;
    const std::int64_t call = calls++;
    return call >= from && call < until ? scale(sum, std::nan("")) : sum;
  }
};

std::function<void(Parts&)> spoil_rank_1(std::int64_t from, std::int64_t until) {
  return [=](Parts& parts) {
    if (parts.comm.rank() == 1)
      parts.objective = std::make_unique<Spoiled>(std::move(parts.objective), from, until);
  };
}

}  // namespace

TEST_CASE("accumulate: a period is one step with a batch that many times as large") {
  const ScratchFolder scratch;
  Config config = with_rule(scratch.path, "accumulate", 3);
  config.batch.micro_batch = 2;
  config.optim.lr = 1e-2;
  const std::string reduction = GENERATE("fast", "exact");
  config.comm.reduction = reduction;
  const Recording rare = train(config, 2);
  Config large = config;
  large.sync.rule = "every_step";
  large.run.steps = 4;
  large.batch.global_batch = 36;
  const Recording every = train(large, 1);
  CHECK(largest_difference(rare.final_values, every.final_values) < 2e-5);
  if (reduction == "exact") CHECK(largest_difference(rare.final_values, every.final_values) == 0);
  double loss = 0;
  for (int i = 0; i < 3; ++i) loss += rare.steps[i].loss / 3;
  CHECK(loss == Approx(every.steps[0].loss).epsilon(1e-6));
  CHECK(rare.steps.back().tokens == every.steps.back().tokens);
}

TEST_CASE("accumulate: the steps that update, their learning rates, and what is sent") {
  const ScratchFolder scratch;
  Config config = with_rule(scratch.path, "accumulate", 4);
  config.optim.kind = "sgd";
  config.optim.beta1 = 0;
  config.schedule.warmup = 12;
  const Recording run = train(config, 2);
  CHECK(meetings(run) == std::vector<std::int64_t>{4, 8, 12});
  for (const StepReport& step : run.steps) {
    CHECK_FALSE(step.skipped);
    CHECK((step.grad_norm > 0) == (step.step % 4 == 0));
    CHECK(step.sync == "accumulate");
    CHECK(step.updates == step.step / 4);
  }
  // Where only the step that updates has a learning rate, the run is the same.
  struct OnlyFourths final : LrSchedule {
    std::unique_ptr<LrSchedule> inner;
    explicit OnlyFourths(std::unique_ptr<LrSchedule> s) : inner(std::move(s)) {}
    double at(std::int64_t step) const override { return step % 4 == 3 ? inner->at(step) : 1e9; }
  };
  const Recording other = train(config, 2, "", [](Parts& parts) {
    parts.schedule = std::make_unique<OnlyFourths>(std::move(parts.schedule));
  });
  CHECK(other.final_values == run.final_values);
}

TEST_CASE("stopping and resuming at any step of a period changes nothing") {
  const ScratchFolder scratch;
  const std::string rule = GENERATE("accumulate", "exact", "diloco");
  INFO(rule);
  Config config = with_rule(scratch.path, rule == "exact" ? "accumulate" : rule, 4);
  if (rule == "exact") config.comm.reduction = "exact";
  config.batch.micro_batch = 2;
  config.checkpoint.every = 1;
  config.checkpoint.keep = 100;
  const Recording whole = train(config, 2);
  for (const int step : {1, 3, 4, 6, 11}) {
    INFO("from step " << step);
    Config again = config;
    again.checkpoint.dir = scratch.path + "/again";
    const Recording rest = train(again, 2, scratch.path + "/ckpt/step-" + std::to_string(step));
    CHECK(rest.steps.size() == 12u - static_cast<unsigned>(step));
    CHECK(largest_difference(rest.final_values, whole.final_values) == 0);
    CHECK(rest.steps.back().loss == whole.steps.back().loss);
  }
}

TEST_CASE("a run stopped at 6 and resumed meets at 8") {
  const ScratchFolder scratch;
  const std::string rule = GENERATE("accumulate", "diloco", "local_sgd");
  INFO(rule);
  Config config = with_rule(scratch.path, rule, 4);
  config.comm.hash_every = 0;
  const Recording whole = train(config, 2);
  CHECK(meetings(whole) == std::vector<std::int64_t>{4, 8, 12});
  Config half = config;
  half.run.steps = 6;
  train(half, 2);
  const Recording rest = train(config, 2, scratch.path + "/ckpt/step-6");
  CHECK(meetings(rest) == std::vector<std::int64_t>{8, 12});
  CHECK(largest_difference(rest.final_values, whole.final_values) == 0);
}

TEST_CASE("a part of a period cannot be resumed with another number of ranks, a whole one can") {
  const ScratchFolder scratch;
  Config config = with_rule(scratch.path, "accumulate", 4);
  config.checkpoint.every = 2;
  config.checkpoint.keep = 10;
  train(config, 2);
  CHECK_THROWS_WITH(train(config, 3, scratch.path + "/ckpt/step-6"),
                    Catch::Contains("the gradient of a period's steps so far"));
  CHECK_NOTHROW(train(config, 3, scratch.path + "/ckpt/step-8"));
}

TEST_CASE("a skipped step on one rank never shifts the period") {
  const ScratchFolder scratch;
  for (const std::string rule : {"accumulate", "diloco", "local_sgd"}) {
    INFO(rule);
    Config config = with_rule(scratch.path, rule, 4);
    config.comm.hash_every = 0;
    for (const std::int64_t bad : {1, 3, 4}) {  // mid-period, at its end, at the next one's start
      const Recording run = train(config, 2, "", spoil_rank_1(bad, bad + 1));
      CHECK(meetings(run) == std::vector<std::int64_t>{4, 8, 12});
      // A spoilt period of accumulate is lost for all ranks; the others only lose one rank's step.
      if (rule == "accumulate") {
        CHECK(run.steps[bad < 4 ? 3 : 7].skipped);
        CHECK(run.steps.back().updates == 2);
      } else {
        CHECK(run.steps.back().updates == 12);
      }
      CHECK(std::isfinite(run.steps.back().loss));
    }
  }
}

TEST_CASE("diloco with an outer rate of 1 and no momentum is averaging, to rounding") {
  const ScratchFolder scratch;
  Config config = with_rule(scratch.path, "diloco", 4);
  config.sync.outer_lr = 1;
  config.sync.outer_momentum = 0;
  const Recording outer = train(config, 3);
  config.sync.rule = "local_sgd";
  const Recording average = train(config, 3);
  CHECK(largest_difference(outer.final_values, average.final_values) < 1e-5);
  config.sync.rule = "every_step";
  const Recording plain = train(config, 1);
  config.sync.rule = "diloco";
  const Recording alone = train(config, 1);
  CHECK(largest_difference(alone.final_values, plain.final_values) < 1e-5);
  config.sync.outer_lr = 0.7;
  CHECK(largest_difference(train(config, 1).final_values, plain.final_values) > 1e-3);
}

TEST_CASE("diloco's outer steps, recomputed in double") {
  const ScratchFolder scratch;
  Config config = with_rule(scratch.path, "diloco", 1);
  config.optim.kind = "sgd";
  config.optim.beta1 = 0;
  config.optim.weight_decay = 0;
  config.optim.max_norm = inf;
  // One rank, two periods of one step. Each inner step is w - lr g(w); from the first of them and
  // plain SGD's we know g at the start, so the first outer step is known: Nesterov's m = g,
  // w = start - 0.7 (g + 0.9 g) = start - 1.33 g.
  config.run.steps = 1;
  config.optim.lr = 0.01;
  const Recording outer = train(config, 1);
  config.sync.rule = "every_step";
  config.optim.lr = 0.0133;
  const Recording plain = train(config, 1);
  CHECK(largest_difference(outer.final_values, plain.final_values) < 1e-6);
  // A second step carries 0.9 of the first on: w2 = w1 - 0.7 (1.9 g2 + 0.81 g1).
  config.optim.lr = 0;
  const std::vector<double> start = train(config, 1).final_values;
  config.run.steps = 2;
  config.optim.lr = 0.0133;
  const Recording both = train(config, 1);  // start - 1.33 g1 - 1.33 g2, at the same points
  config.sync.rule = "diloco";
  config.optim.lr = 0.01;
  const std::vector<double> second = train(config, 1).final_values;
  std::vector<double> expected(start.size());
  for (std::size_t i = 0; i < start.size(); ++i)  // g1 = (start - w1) / 1.33
    expected[i] = both.final_values[i] - 0.7 * 0.81 * (start[i] - plain.final_values[i]) / 1.33;
  CHECK(largest_difference(second, expected) < 1e-6);
}

TEST_CASE("local_sgd with plain SGD at every step is every_step, to rounding") {
  const ScratchFolder scratch;
  Config config = with_rule(scratch.path, "local_sgd", 1);
  config.optim.kind = "sgd";
  config.optim.beta1 = 0;
  config.optim.max_norm = inf;
  config.run.steps = 6;
  const Recording local = train(config, 3);
  config.sync.rule = "every_step";
  const Recording every = train(config, 3);
  // A mean of means is the mean where all ranks have equally many targets.
  for (std::size_t i = 0; i < 6; ++i)
    REQUIRE(every.steps[i].tokens == static_cast<std::int64_t>(i + 1) * 12 * 16);
  CHECK(largest_difference(local.final_values, every.final_values) < 1e-6);
}

TEST_CASE("after each meeting all ranks hold the same weights, and between them they do not") {
  const ScratchFolder scratch;
  for (const std::string rule : {"diloco", "local_sgd"}) {
    const Recording run = train(with_rule(scratch.path, rule, 4), 3);
    int checked = 0;
    for (const std::string& text : run.messages) {
      const std::size_t at = text.find(": consensus distance ");
      if (at == text.npos) continue;
      const int step = std::stoi(text.substr(5));
      const double distance = std::stod(text.substr(at + 21));
      INFO(rule << " " << text);
      // The mean of three equal numbers is theirs up to a rounding.
      if (step % 4 == 0)
        CHECK(distance < 1e-7);
      else
        CHECK(distance > 1e-4);
      ++checked;
    }
    CHECK(checked == 12);
    run_ranks(3, [&](Communicator& comm) {
      Config config = with_rule(scratch.path, rule, 4);
      config.checkpoint.dir = scratch.path + "/hash";
      config.run.steps = 8;
      Parts parts = build_parts(config, comm);
      Trainer trainer(parts, build_limits(config));
      trainer.run();
      const Tensor& values = parts.parameters->values();
      const auto* bytes = static_cast<const std::byte*>(values.raw());
      if (!comm.all_equal(hash_bytes({bytes, values.bytes()})).empty())
        throw std::runtime_error("ranks differ");
    });
  }
}

TEST_CASE("a change of phase waits for the end of a period") {
  const ScratchFolder scratch;
  Config config = with_rule(scratch.path, "every_step", 1);
  config.comm.hash_every = 0;
  read_toml(config, R"(
[[phase]]
until_step = 3
sync = "accumulate"
period = 2
[[phase]]
until_step = 9
sync = "diloco"
period = 3
[[phase]]
sync = "every_step"
)",
            "phases.toml");
  const Recording run = train(config, 2);
  std::vector<std::string> rules, expected(4, "accumulate");
  for (const StepReport& step : run.steps) rules.push_back(step.sync);
  expected.insert(expected.end(), 6, "diloco");
  expected.insert(expected.end(), 2, "every_step");
  CHECK(rules == expected);
  // Periods are counted from the phase's first step; ranks that were apart join before step 11.
  CHECK(meetings(run) == std::vector<std::int64_t>{2, 4, 7, 10, 11, 12});
}

TEST_CASE("what these rules cannot be combined with is refused with the reason") {
  const ScratchFolder scratch;
  Config config = with_rule(scratch.path, "diloco", 4);
  CHECK_NOTHROW(validate(config, 4));
  config.compress.codec = "int8";
  CHECK_THROWS_WITH(validate(config, 4), Catch::Contains("compress.codec int8 cannot be had"));
  config.sync.rule = "accumulate";
  CHECK_NOTHROW(validate(config, 4));
  config.compress.codec = "none";
  for (const std::string rule : {"accumulate", "diloco"}) {
    config.sync.rule = rule;
    config.comm.topology = "random_clusters";
    config.comm.cluster_size = 2;
    CHECK_THROWS_WITH(validate(config, 4), Catch::Contains("sync.rule " + rule) &&
                                               Catch::Contains("groups only some of the 4"));
    CHECK_NOTHROW(validate(config, 2));
  }
}
