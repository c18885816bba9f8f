// Loss scaling: when the scale moves, that all ranks move it alike, and that it changes no update.
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/core/error.h"
#include "engine/ops/ops.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

using Gradients = LossScaler::Gradients;

// On rank 1, the loss of some steps is multiplied by infinity, whoever computes it again.
struct Exploding final : Objective {
  Exploding(int r, std::vector<int> s) : rank(r), steps(std::move(s)) {}
  int rank;
  std::vector<int> steps;
  Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
    const Tensor plain = make_next_token()->loss(model, batch, pass);
    if (pass.mode != Pass::Mode::train) return plain;  // a save looks at the loss too
    const auto step = static_cast<int>(batch.samples.front() / 12 + 1);
    const bool now = std::find(steps.begin(), steps.end(), step) != steps.end();
    return now && rank == 1 ? scale(plain, std::numeric_limits<double>::infinity()) : plain;
  }
};

Recording exploding(const Config& config, int ranks, const std::vector<int>& steps) {
  return train(config, ranks, "", [&](Parts& parts) {
    parts.validation.reset();
    parts.objective = std::make_unique<Exploding>(parts.comm.rank(), steps);
  });
}

}  // namespace

TEST_CASE("SCALER: a dynamic scale doubles after enough clean updates and halves at an overflow") {
  LossScaler scaler({LossScaler::Kind::dynamic, 1024, 3, 1});
  for (const auto& [finite, expected] : {std::pair{true, 1024.0},
                                         {true, 1024.0},
                                         {true, 2048.0},
                                         {true, 2048.0},
                                         {false, 1024.0},
                                         {true, 1024.0},
                                         {true, 1024.0},
                                         {true, 2048.0}}) {
    scaler.look(finite ? Gradients::finite : Gradients::overflowed);
    CHECK(scaler.scale() == expected);
  }
  // 2048 can be halved 11 times; the twelfth overflow in a row ends the run.
  for (int i = 0; i < 11; ++i) scaler.look(Gradients::overflowed);
  CHECK(scaler.scale() == 1);
  try {
    scaler.look(Gradients::overflowed);
    FAIL("went below the minimum");
  } catch (const Error& error) {
    CHECK(error.exit_code() == 4);
  }
}

TEST_CASE("CLIP: a fixed scale of 1 and of 65536 give the same update, clipping included") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 5;
  config.optim.max_norm = 0.5;
  config.precision.loss_scale = "1";
  const Recording one = train(config, 2);
  config.precision.loss_scale = "65536";
  const Recording large = train(config, 2);
  CHECK(large.final_values == one.final_values);  // powers of two change no bit
  CHECK(large.steps[3].grad_norm == one.steps[3].grad_norm);
  CHECK(large.steps[0].scale == 65536 * one.steps[0].scale);
}

TEST_CASE("SCALER: an overflow on one rank of three: all skip the step and all scales halve") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 5;
  config.precision.compute = "fp16";
  config.precision.growth_interval = 2;
  const Recording run = exploding(config, 3, {3});  // compares parameters after every step
  std::vector<bool> skipped;
  std::vector<double> scales;
  for (const StepReport& step : run.steps) {
    skipped.push_back(step.skipped);
    scales.push_back(step.scale / run.steps[0].scale);
  }
  CHECK(skipped == std::vector<bool>{false, false, true, false, false});
  CHECK(scales == std::vector<double>{1, 2, 1, 1, 2});
}

TEST_CASE("ranks that learn each for itself decide together whether to save") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.sync.rule = "local_sgd";
  config.sync.period = 2;
  config.run.steps = 6;
  config.checkpoint.every = 1;
  config.checkpoint.keep = 9;
  config.precision.compute = GENERATE("fp32", "fp16");
  // Rank 1 learns nothing from the second to the fourth step.
  exploding(config, 3, {2, 3, 4});
  std::vector<int> saved;
  for (int step = 1; step <= 6; ++step)
    if (std::filesystem::exists(fmt::format("{}/run/ckpt/step-{}", scratch.path, step)))
      saved.push_back(step);
  INFO(config.precision.compute);
  CHECK(saved == std::vector<int>{1, 5, 6});
}

TEST_CASE("SCALER: overflows without end leave with exit code 4 at the minimum") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 300;
  config.precision.compute = "fp16";
  std::vector<int> all(300);
  for (int i = 0; i < 300; ++i) all[static_cast<std::size_t>(i)] = i + 1;
  CHECK_THROWS_WITH(exploding(config, 3, all), Catch::Contains("precision.min_scale"));
}

TEST_CASE("ADAM-FP16: three updates without a gradient change nothing but by the decay") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 3;
  config.precision.compute = GENERATE("fp16", "bf16");
  config.optim.eps = 1e-8;  // in fp16 this is 0, and 0 / 0 no number
  config.optim.lr = 0.25;
  config.optim.weight_decay = 0.5;
  struct Flat final : Objective {
    Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
      return scale(make_next_token()->loss(model, batch, pass), 0);
    }
  };
  std::vector<std::string> wrong;
  run_ranks(1, [&](Communicator& comm) {
    Parts parts = build_parts(config, comm);
    parts.validation.reset();
    parts.objective = std::make_unique<Flat>();
    std::vector<std::vector<double>> before;
    for (const Parameter* p : parts.model->parameters()) before.push_back(to_doubles(p->value));
    Trainer(parts, build_limits(config)).run();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const Parameter& p = *parts.model->parameters()[i];
      // Matrices decay by 1 - 0.25 / 2 = 7/8 an update, and vectors do not.
      const double kept = p.shape.rank() >= 2 ? 343.0 / 512 : 1;
      const auto after = to_doubles(p.value), rounded = to_doubles(p.compute);
      for (std::size_t j = 0; j < after.size(); ++j) {
        const double expected = before[i][j] * kept;
        const bool right = std::abs(after[j] - expected) <= 2e-7 * std::abs(expected) &&
                           std::abs(rounded[j] - expected) <= 0x1p-8 * std::abs(expected) + 0x1p-24;
        if (!right) wrong.push_back(p.path);
      }
    }
  });
  CHECK(wrong == std::vector<std::string>{});
}

TEST_CASE("fp16 and bf16 learn what fp32 learns") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 40;
  const double expected = train(config, 2).steps.back().loss;
  for (const char* compute : {"bf16", "fp16"}) {
    config.precision.compute = compute;
    const Recording run = train(config, 2);
    INFO(compute << ' ' << run.steps.back().loss << " and fp32 " << expected);
    CHECK(std::abs(run.steps.back().loss - expected) < 0.02);
    CHECK(run.steps.back().loss != expected);
  }
}
