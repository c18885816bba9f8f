// schedule.restart_from: with validation losses by script, what the history says, which weights and
// moments each cycle begins with, and that stopping anywhere changes nothing.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "engine/ops/ops.h"
#include "train/observe/metrics_file.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

// Cycles of three steps. By the script the second ends worse than the first, the third best of all.
const std::map<std::int64_t, double> script = {{3, 1}, {6, 2}, {9, 0.5}, {12, 2}};

Config in_cycles(const std::string& folder, const std::string& restart_from) {
  Config config = small_config(folder);
  config.run.steps = 12;
  config.checkpoint.dir = folder + "/ckpt";
  config.schedule.kind = "warm_restarts";
  config.schedule.cycle = 3;
  config.schedule.jitter = 0.05;
  config.schedule.restart_from = restart_from;
  config.optim.lr = 0.01;
  return config;
}

/// The flat values of parameters and optimizer state, as an archive sees them.
struct Collected final : Archive {
  std::vector<std::vector<double>> all;
  void field(std::string_view, std::int64_t& value) override {
    all.push_back({static_cast<double>(value)});
  }
  void field(std::string_view, double& value) override { all.push_back({value}); }
  void field(std::string_view, const Tensor& t) override { all.push_back(to_doubles(t)); }
};

using State = std::vector<std::vector<double>>;

State state_of(Parts& parts) {
  Collected collected;
  collected.all.push_back(to_doubles(parts.parameters->values()));
  parts.optimizer->archive(collected);
  return collected.all;
}

/// What rank 0 saw.
struct Seen {
  std::vector<CycleReport> cycles;
  std::map<std::int64_t, State> before,
      after;  // before training step k + 1; validated after step k
};

/// Multiplies validation losses by the script. There is one micro-batch a step.
struct Scripted final : Objective {
  Scripted(Parts& p, std::int64_t first, Seen* s)
      : parts(p), inner(std::move(p.objective)), step(first), seen(s) {}
  Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
    const Tensor sum = inner->loss(model, batch, pass);
    if (pass.mode == Pass::Mode::train) {
      if (seen) seen->before.emplace(step, state_of(parts));
      ++step;
      return sum;
    }
    if (batch.B == 1) return sum;  // a checkpoint's witness
    if (seen) seen->after.emplace(step, state_of(parts));
    const auto at = script.find(step);
    return at == script.end() ? sum : scale(sum, at->second);
  }
  Parts& parts;
  std::unique_ptr<Objective> inner;
  std::int64_t step;
  Seen* seen;
};

struct CycleRecorder final : Observer {
  explicit CycleRecorder(std::vector<CycleReport>& c) : cycles(c) {}
  void on_validation(std::int64_t, double) override {}
  void on_cycle(const CycleReport& cycle) override { cycles.push_back(cycle); }
  std::vector<CycleReport>& cycles;
};

std::function<void(Parts&)> scripted(std::int64_t first, Seen* seen = nullptr) {
  return [=](Parts& parts) {
    Seen* own = parts.comm.rank() == 0 ? seen : nullptr;
    parts.objective = std::make_unique<Scripted>(parts, first, own);
    if (own) parts.observers.push_back(std::make_unique<CycleRecorder>(own->cycles));
  };
}

std::vector<std::int64_t> next_from(const Seen& seen) {
  std::vector<std::int64_t> steps;
  for (const CycleReport& cycle : seen.cycles) steps.push_back(cycle.next_from);
  return steps;
}

/// Runs until a stop is asked for after step `stop`.
void train_until(const Config& config, std::int64_t stop) {
  run_ranks(2, [&](Communicator& comm) {
    Parts parts = build_parts(config, comm);
    scripted(0)(parts);
    Limits limits = build_limits(config);
    std::int64_t asked = 0;
    limits.stop_signal = [&] { return ++asked == stop ? 10 : 0; };
    if (Trainer(parts, limits).run() != RunEnd::stopped) throw std::runtime_error("did not stop");
  });
}

}  // namespace

TEST_CASE("restart_from best: a cycle begins with the weights and moments of the best one") {
  const ScratchFolder scratch;
  const Config config = in_cycles(scratch.path, "best");
  Seen seen;
  const Recording run = train(config, 2, "", scripted(0, &seen));
  REQUIRE(seen.cycles.size() == 4);
  for (std::int64_t i = 0; i < 4; ++i) {
    const CycleReport& cycle = seen.cycles[static_cast<std::size_t>(i)];
    CHECK(cycle.cycle == i);
    CHECK(cycle.step == 3 * (i + 1));
    CHECK(cycle.validation_loss == run.validations[static_cast<std::size_t>(i)]);
    // The cycle's first step has its highest rate.
    CHECK(run.steps[static_cast<std::size_t>(3 * i)].lr == Approx(0.01 * (1 + cycle.jitter)));
    CHECK(cycle.jitter != 0);
  }
  CHECK(run.validations.size() == 4);
  CHECK(next_from(seen) == std::vector<std::int64_t>{3, 3, 9, 9});
  CHECK(seen.before.at(3) == seen.after.at(3));
  CHECK(seen.before.at(6) == seen.after.at(3));
  CHECK(seen.before.at(6) != seen.after.at(6));
  CHECK(seen.before.at(9) == seen.after.at(9));
  CHECK(run.steps[5].updates == 6);
  CHECK(run.steps[6].updates == 4);  // the optimizer counts from where it went back to
  // But the data goes on.
  CHECK(run.steps.back().tokens == train(in_cycles(scratch.path, "last"), 2).steps.back().tokens);
}

TEST_CASE("restart_from last: the history is kept, and every cycle goes on where one ended") {
  const ScratchFolder scratch;
  Config config = in_cycles(scratch.path, "last");
  Seen seen;
  const Recording last = train(config, 2, "", scripted(0, &seen));
  CHECK(next_from(seen) == std::vector<std::int64_t>{3, 6, 9, 12});
  CHECK(seen.before.at(6) == seen.after.at(6));
  CHECK(last.final_values !=
        train(in_cycles(scratch.path, "best"), 2, "", scripted(0)).final_values);
  // Without the script nothing is ever worse at the end of a cycle, and the two are one.
  const Recording plain = train(config, 2);
  CHECK(std::is_sorted(plain.validations.rbegin(), plain.validations.rend()));
  CHECK(train(in_cycles(scratch.path, "best"), 2).final_values == plain.final_values);
  config.data.val_fraction = 0;
  Seen blind;
  train(config, 2, "", scripted(0, &blind));
  REQUIRE(blind.cycles.size() == 4);
  CHECK(std::isnan(blind.cycles[0].validation_loss));
}

TEST_CASE("restart_from best: stopping and resuming at any step changes nothing") {
  const ScratchFolder scratch;
  Config config = in_cycles(scratch.path, "best");
  config.optim.kind = GENERATE(as<std::string>{}, "adamw", "sgd");
  config.checkpoint.every = 1;
  config.checkpoint.keep = 100;
  const Recording whole = train(config, 2, "", scripted(0));
  Config again = config;
  again.checkpoint.dir = scratch.path + "/again";
  for (std::int64_t step = 1; step < 12; ++step) {
    INFO("from step " << step);
    const Recording rest =
        train(again, 2, scratch.path + "/ckpt/step-" + std::to_string(step), scripted(step));
    CHECK(rest.final_values == whole.final_values);
    // What was validated before the checkpoint is not validated again.
    CHECK(std::ssize(rest.validations) == 4 - step / 3);
  }
  // Another number of ranks goes back to the same weights.
  Seen seen;
  train(again, 3, scratch.path + "/ckpt/step-5", scripted(5, &seen));
  CHECK(next_from(seen) == std::vector<std::int64_t>{3, 9, 9});
}

TEST_CASE("restart_from best: a stop right after a cycle leaves its end to the run that resumes") {
  const ScratchFolder scratch;
  Config config = in_cycles(scratch.path, "best");
  const Recording whole = train(config, 2, "", scripted(0));
  for (const std::int64_t stop : {5, 6, 7}) {
    INFO("stopped after step " << stop);
    config.checkpoint.dir = scratch.path + "/stop-" + std::to_string(stop);
    train_until(config, stop);
    Seen seen;
    const Recording rest = train(config, 2, config.checkpoint.dir + "/step-" + std::to_string(stop),
                                 scripted(stop, &seen));
    CHECK(rest.final_values == whole.final_values);
    CHECK(rest.steps.size() == 12u - static_cast<unsigned>(stop));
    CHECK(next_from(seen) ==
          (stop == 7 ? std::vector<std::int64_t>{9, 9} : std::vector<std::int64_t>{3, 9, 9}));
  }
}

TEST_CASE("lr_history.csv: a row a cycle; resuming goes on with it") {
  const ScratchFolder scratch;
  const std::string path = scratch.path + "/lr_history.csv";
  {
    const auto history = make_lr_history(path, 0);
    history->on_cycle({10, 0, -0.03125, 2.5, 10});
    history->on_cycle({20, 1, 0, NAN, 10});
    history->on_cycle({30, 2, 0.5, 2.25, 30});
  }
  make_lr_history(path, 20)->on_cycle({30, 2, 0.5, 3, 10});
  CHECK(read_file(path) ==
        "step,cycle,jitter,val_loss,next_from\n"
        "10,0,-0.03125,2.5,10\n"
        "20,1,0,,10\n"
        "30,2,0.5,3,10\n");
  make_lr_history(path, 0);
  CHECK(read_file(path) == "step,cycle,jitter,val_loss,next_from\n");
}

TEST_CASE("restart_from best needs cycles, a validation set, and one set of weights") {
  const ScratchFolder scratch;
  Config config = in_cycles(scratch.path, "best");
  CHECK_NOTHROW(validate(config, 4));
  config.schedule.kind = "step";
  CHECK_NOTHROW(validate(config, 4));
  for (const std::string kind : {"constant", "cosine", "wsd"}) {
    config.schedule.kind = kind;
    CHECK_THROWS_WITH(validate(config, 4), Catch::Contains("schedule.kind " + kind + " has no"));
  }
  config = in_cycles(scratch.path, "best");
  for (const std::string rule : {"local_sgd", "diloco", "accumulate"}) {
    config.sync.rule = rule;
    CHECK_THROWS_WITH(validate(config, 4), Catch::Contains("with sync.rule " + rule));
  }
  config.sync.rule = "every_step";
  config.comm.topology = "random_clusters";
  config.comm.cluster_size = 2;
  CHECK_THROWS_WITH(validate(config, 4), Catch::Contains("topology random_clusters leaves"));
  CHECK_NOTHROW(validate(config, 2));
  config = in_cycles(scratch.path, "best");
  config.data.val_fraction = 0;
  CHECK_THROWS_WITH(train(config, 1), Catch::Contains("there is no validation data"));
}
