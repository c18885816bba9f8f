// The trainer as a whole, ranks as threads: N ranks equal one, resuming changes nothing, every
// parameter learns, nothing is learned from nothing.
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/autograd/grad_slot.h"
#include "engine/autograd/tape.h"
#include "engine/ops/ops.h"
#include "train/checkpoint/manifest.h"
#include "train/sync/every_step.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

void require_same_losses(const Recording& a, const Recording& b, double tolerance) {
  REQUIRE(a.steps.size() == b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    INFO("step " << a.steps[i].step);
    CHECK(std::abs(a.steps[i].loss - b.steps[i].loss) <= tolerance * std::abs(a.steps[i].loss));
    CHECK(a.steps[i].tokens == b.steps[i].tokens);
  }
}

}  // namespace

TEST_CASE("the same global batch gives the same losses at 1, 2, 3 and 4 ranks") {
  const ScratchFolder scratch;
  // 2,701 training tokens make 169 windows of 16; the last has 12 targets. With 12 windows a step
  // it comes up in the 15th step, on one rank only: ranks then have unequal numbers of valid
  // tokens.
  Config config = small_config(scratch.path);
  const Recording one = train(config, 1);
  REQUIRE(one.steps.size() == 20);
  CHECK(one.steps.back().tokens < 20 * 12 * 16);
  CHECK(one.steps.back().loss < one.steps.front().loss - 0.5);
  for (const char* topology : {"ring", "tree", "full_mesh"})
    for (int ranks : {2, 3, 4}) {
      INFO(topology << " " << ranks << " ranks");
      config.comm.topology = topology;
      const Recording many = train(config, ranks);
      require_same_losses(one, many, 2e-5);
      CHECK(std::abs(many.validations.back() - one.validations.back()) <
            2e-5 * one.validations.back());
    }
}

TEST_CASE("ranks with very unequal numbers of valid tokens still train as one") {
  // A text of one and a bit windows: half the samples of a step are nearly empty.
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  const std::string text = scratch.path + "/short.txt";
  write_file(text, synthetic_text(16 + 3));  // 18 targets in three windows
  config.data.train = text;
  config.data.val_fraction = 0;
  config.batch.global_batch = 12;
  const Recording one = train(config, 1);
  for (int ranks : {2, 3, 4}) {
    INFO(ranks << " ranks");
    require_same_losses(one, train(config, ranks), 2e-5);
  }
}

TEST_CASE("accumulating micro-batches equals one big batch") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  const Recording whole = train(config, 1);
  for (std::int64_t micro : {1, 3, 4}) {
    config.batch.micro_batch = micro;
    require_same_losses(whole, train(config, 1), 2e-5);
  }
}

TEST_CASE("dropout does not depend on the number of ranks") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.model.dropout = 0.2;
  const Recording one = train(config, 1);
  require_same_losses(one, train(config, 3), 2e-5);
  config.run.seed = 5;
  CHECK(train(config, 1).steps.back().loss != one.steps.back().loss);
}

TEST_CASE("a resumed run is bit-equal to one that was never interrupted") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.model.dropout = 0.1;
  config.schedule.kind = "cosine";
  config.schedule.warmup = 4;
  config.checkpoint.every = 7;
  const std::string optimizer = GENERATE("adamw", "sgd");
  config.optim.kind = optimizer;
  const Recording whole = train(config, 2);
  Config rest = config;
  rest.run.dir = scratch.path + "/rest";
  const Recording resumed = train(rest, 2, config.run.dir + "/ckpt/step-7");
  REQUIRE(resumed.steps.size() == 13);
  CHECK(resumed.steps.front().step == 8);
  for (std::size_t i = 0; i < resumed.steps.size(); ++i) {
    CHECK(resumed.steps[i].loss == whole.steps[i + 7].loss);
    CHECK(resumed.steps[i].updates == whole.steps[i + 7].updates);
    CHECK(resumed.steps[i].tokens == whole.steps[i + 7].tokens);
  }
  CHECK(resumed.final_values == whole.final_values);
  for (const char* file : {"/ckpt/step-20/model/model.safetensors",
                           "/ckpt/step-20/state.safetensors", "/ckpt/step-20/state.json"})
    CHECK(read_file(config.run.dir + file) == read_file(rest.run.dir + file));
}

TEST_CASE("a checkpoint of another run is refused, naming what differs") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 1;
  train(config, 1);
  const std::string checkpoint = config.run.dir + "/ckpt/step-1";
  Config other = config;
  other.run.seed = 99;
  CHECK_THROWS_WITH(train(other, 1, checkpoint),
                    Catch::Contains("run.seed was 1337, now it is 99"));
  other = config;
  other.model.layers = 3;
  CHECK_THROWS_WITH(train(other, 1, checkpoint),
                    Catch::Contains("2 layers") && Catch::Contains("3 layers"));
  other = config;
  other.optim.kind = "sgd";
  CHECK_THROWS_WITH(train(other, 1, checkpoint), Catch::Contains("velocity"));
}

TEST_CASE("every parameter moves in the first step") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 1;
  config.optim.weight_decay = 0;
  config.model.tied = GENERATE(true, false);
  run_ranks(2, [&](Communicator& comm) {
    Parts parts = build_parts(config, comm);
    std::vector<std::vector<double>> before;
    for (const auto& entry : parts.parameters->list()) before.push_back(to_doubles(entry.value));
    Trainer(parts, build_limits(config)).run();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto& entry = parts.parameters->list()[i];
      if (to_doubles(entry.value) == before[i])
        throw std::runtime_error(entry.path + " did not move");
    }
  });
}

TEST_CASE("UNUSED-PARAM: a parameter used on one rank only: no hang, its gradient counts") {
  // As a branch taken by rank 0 alone: its loss adds the sum of a parameter that others never
  // touch.
  struct Extra final : Module {
    Extra() : used(parameter("used", {4}, constant_init(1))) {}
    Tensor forward(const Tensor& x, const Pass&) override { return x; }
    const Parameter& used;
  };
  run_ranks(3, [&](Communicator& comm) {
    Extra module;
    ParameterStore store(module, 1);
    store.grads().data<float>()[0] = 1e30f;  // stale memory must not be summed
    store.clear_gradients();
    if (comm.rank() == 0) {
      Tape tape;
      tape.backward(sum(module.used.value));
    }
    const auto unused = store.zero_unwritten();
    if (unused.size() != (comm.rank() == 0 ? 0u : 1u))
      throw std::runtime_error("unused parameters miscounted");
    const auto ring = make_topology("ring");
    const StepTotals totals = make_every_step(make_fast_reduction(), {})
                                  ->after_backward(store, {1, 1}, {comm, *ring, 1, 0})
                                  .summed;
    // The sum over ranks is rank 0's gradient; divided by all tokens it is rank 0's over N.
    for (double g : to_doubles(store.at("used").grad))
      if (g / totals.tokens != 1.0 / 3) throw std::runtime_error("gradient " + std::to_string(g));
  });
}

TEST_CASE(
    "LOSS-EMPTY: a global batch without targets skips its step; the warning is not told each "
    "time") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 12;
  struct Ignoring final : Objective {
    Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
      Batch& changed = const_cast<Batch&>(batch);
      for (auto& target : changed.targets) target = ignored_target;
      changed.valid_targets = 0;
      return make_next_token()->loss(model, changed, pass);
    }
  };
  std::vector<double> start;
  const Recording run = train(config, 2, "", [&](Parts& parts) {
    parts.validation.reset();
    if (parts.comm.rank() == 0) start = to_doubles(parts.parameters->values());
    parts.objective = std::make_unique<Ignoring>();
  });
  CHECK(run.steps.size() == 12);
  CHECK(run.steps[0].skipped);
  CHECK(run.steps[1].updates == 0);
  CHECK(std::isnan(run.steps[0].loss));
  CHECK(run.final_values == start);
  std::vector<std::string> warnings;
  for (const std::string& message : run.messages)
    if (message.starts_with("warning: ")) warnings.push_back(message);
  const std::string what = "every target of the batch is ignored; no update";
  CHECK(warnings ==
        std::vector<std::string>{"warning: step 1: " + what,
                                 "warning: step 10: " + what + " (repeated 9 times)",
                                 "warning: " + what + " (repeated 11 times, the last at step 12)"});
}

TEST_CASE(
    "CLIP: a gradient that is not finite skips the step on every rank; many in a row end the run") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 50;
  struct Exploding final : Objective {
    int rank;
    std::int64_t calls = 0, from;
    Exploding(int r, std::int64_t f) : rank(r), from(f) {}
    Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
      const Tensor loss = make_next_token()->loss(model, batch, pass);
      const bool explode = rank == 1 && (calls == 3 || calls >= from);
      ++calls;
      return explode ? scale(loss, INFINITY) : loss;
    }
  };
  SECTION("once") {
    const Recording run = train(config, 2, "", [](Parts& parts) {
      parts.objective = std::make_unique<Exploding>(parts.comm.rank(), 1000);
      parts.validation.reset();
    });
    CHECK(run.steps[3].skipped);
    CHECK(run.steps.back().updates == 49);
    CHECK(run.steps.back().loss < run.steps.front().loss);
  }
  SECTION("for ever") {
    try {
      train(config, 2, "", [](Parts& parts) {
        parts.objective = std::make_unique<Exploding>(parts.comm.rank(), 10);
      });
      FAIL("the run did not end");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::non_finite);
      CHECK_THAT(error.what(), Catch::Contains("20 steps in a row"));
    }
  }
}

TEST_CASE("bf16 learns as fp32 does, at any number of ranks, and resumes bit for bit") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  const Recording wide = train(config, 1);
  config.precision.compute = "bf16";
  config.checkpoint.every = 7;
  const Recording narrow = train(config, 2);
  CHECK(narrow.steps.back().loss == Approx(wide.steps.back().loss).epsilon(0.02));
  CHECK(narrow.steps.back().loss != wide.steps.back().loss);
  Config rest = config;
  rest.run.dir = scratch.path + "/rest";
  const Recording resumed = train(rest, 2, config.run.dir + "/ckpt/step-7");
  CHECK(resumed.final_values == narrow.final_values);
}

TEST_CASE("one rank asked to stop: all stop after the same step, with a checkpoint") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.checkpoint.dir = scratch.path + "/ckpt";
  run_ranks(3, [&](Communicator& comm) {
    Parts parts = build_parts(config, comm);
    Limits limits = build_limits(config);
    int asked = 0;
    if (comm.rank() == 1) limits.stop_signal = [&asked] { return ++asked == 4 ? 10 : 0; };
    Trainer trainer(parts, limits);
    if (trainer.run() != RunEnd::stopped) throw std::runtime_error("did not stop");
    if (trainer.first_step() != 4) throw std::runtime_error("stopped after another step");
  });
  CHECK(find_damage(scratch.path + "/ckpt/step-4").empty());
  CHECK(train(config, 2, scratch.path + "/ckpt/step-4").steps.size() == 16);
}

TEST_CASE(
    "UNUSED-PARAM: a parameter that ranks do not use ends the run, or is named with the ranks") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 4;
  // Learned positions count on rank 0 only, and on no rank in the third step.
  struct Picky final : Objective {
    Picky(int r, Tensor t) : rank(r), table(std::move(t)) {}
    int rank, calls = 0;
    Tensor table;
    Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
      const bool all = rank == 0 && ++calls != 3;
      if (all) return make_next_token()->loss(model, batch, pass);
      return sum(mul(table, table));
    }
  };
  const auto picky = [](Parts& parts) {
    parts.validation.reset();
    parts.objective = std::make_unique<Picky>(parts.comm.rank(),
                                              parts.parameters->at("token_embedding.weight").value);
  };
  CHECK_THROWS_WITH(train(config, 2, "", picky), Catch::Contains("got no gradient on rank 1") &&
                                                     Catch::Contains("position_embedding.weight"));
  config.ddp.find_unused_parameters = true;
  const Recording run = train(config, 2, "", picky);
  std::vector<std::string> reports;
  for (const std::string& message : run.messages)
    if (message.find("not used") != message.npos) reports.push_back(message);
  REQUIRE(reports.size() == 3);  // the set changes in steps 1, 3 and 4
  CHECK_THAT(reports[0], Catch::StartsWith("step 1") &&
                             Catch::Contains("position_embedding.weight by rank 1;"));
  CHECK_THAT(reports[1], Catch::StartsWith("step 3") &&
                             Catch::Contains("position_embedding.weight by ranks 0, 1;"));
  CHECK(reports[0].find("token_embedding") == std::string::npos);
  config.ddp.find_unused_parameters = false;
  CHECK(train(config, 2).steps.size() == 4);
}

TEST_CASE("topology auto measures the wires and trains as the others; transport mpi needs MPI") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  const Recording ring = train(config, 3);
  config.comm.topology = "auto";
  const Recording chosen = train(config, 3);
  require_same_losses(ring, chosen, 2e-5);
  CHECK(chosen.steps.front().topology == "auto");
  config.comm.topology = "ring";
  config.comm.transport = "mpi";
  CHECK_THROWS_WITH(train(config, 2), Catch::Contains("MPI"));
}
