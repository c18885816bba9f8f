// Weights of the ranks' views: the tilted objective's gradient against finite differences, and what
// the weights do in a run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <mutex>

#include "engine/kernels/copy.h"
#include "engine/ops/ops.h"
#include "train/loss/multi_view.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

const std::vector<ViewLoss> three{{10, 5}, {9, 3}, {2, 4}};  // mean losses 2, 3, 0.5

Config adaptive(const std::string& folder, double temperature, double ema = 0) {
  Config config = small_config(folder);
  config.run.steps = 6;
  config.checkpoint.dir = folder + "/ckpt";
  config.loss.view_weighting = "adaptive";
  config.loss.temperature = temperature;
  config.loss.ema = ema;
  return config;
}

struct Spoiled final : Objective {
  std::unique_ptr<Objective> inner;
  int bad, calls = 0;
  Spoiled(std::unique_ptr<Objective> o, int call) : inner(std::move(o)), bad(call) {}
  Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
    const Tensor sum = inner->loss(model, batch, pass);
    if (pass.mode != Pass::Mode::train) return sum;
    return calls++ == bad ? scale(sum, std::nan("")) : sum;
  }
};

}  // namespace

TEST_CASE("tilted weights in closed form") {
  const double t = 0.7, e0 = std::exp(t * 2), e1 = std::exp(t * 3), e2 = std::exp(t * 0.5);
  const double unit = 12 / (5 * e0 + 3 * e1 + 4 * e2);
  const auto s = tilted_weights(three, t);
  CHECK(s[0] == Approx(e0 * unit).epsilon(1e-14));
  CHECK(s[1] == Approx(e1 * unit).epsilon(1e-14));
  CHECK(s[2] == Approx(e2 * unit).epsilon(1e-14));
  CHECK(tilted_weights(three, 0) == std::vector<double>{1, 1, 1});
  // A negative temperature damps the worst view; large ones stay finite.
  CHECK(tilted_weights(three, -1)[1] < 1);
  CHECK(tilted_weights(three, 1e6)[1] == Approx(12.0 / 3));
  CHECK(tilted_weights(three, -1e6)[2] == Approx(12.0 / 4));
  // Permuting the views permutes their weights.
  const auto p = tilted_weights(std::vector<ViewLoss>{three[2], three[0], three[1]}, t);
  CHECK(p[0] == Approx(s[2]).epsilon(1e-14));
  CHECK(p[1] == Approx(s[0]).epsilon(1e-14));
  CHECK(p[2] == Approx(s[1]).epsilon(1e-14));
  // A view without tokens has no say; a loss that is not finite switches weighting off.
  CHECK(tilted_weights(std::vector<ViewLoss>{{10, 5}, {0, 0}}, t) == std::vector<double>{1, 1});
  CHECK(tilted_weights(std::vector<ViewLoss>{{10, 5}, {NAN, 5}}, t) == std::vector<double>{1, 1});
}

TEST_CASE("ranks that change places change weights, and nobody else's is touched") {
  const auto s = tilted_weights(three, 0.7);
  std::vector<std::size_t> order{0, 1, 2};
  do {
    run_ranks(3, [&](Communicator& comm) {
      const std::size_t mine = order[static_cast<std::size_t>(comm.rank())];
      const double weight = ViewWeights({0.7, 0}).weight(three[mine], comm);
      if (!(std::abs(weight - s[mine]) < 1e-13))
        throw std::runtime_error(fmt::format("{} instead of {}", weight, s[mine]));
    });
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("the weights are the derivatives of the tilted objective") {
  for (const double t : {-2.0, -0.3, 0.4, 3.0}) {
    const auto objective = [&](const std::vector<ViewLoss>& views) {
      double sum = 0, tokens = 0;
      for (const ViewLoss& v : views)
        sum += v.tokens * std::exp(t * v.loss_sum / v.tokens), tokens += v.tokens;
      return std::log(sum / tokens) / t;
    };
    const auto s = tilted_weights(three, t);
    for (std::size_t r = 0; r < 3; ++r) {
      auto up = three, down = three;
      up[r].loss_sum += 1e-5, down[r].loss_sum -= 1e-5;
      // d objective / d (a token loss) = s_r / Σn
      CHECK((objective(up) - objective(down)) / 2e-5 == Approx(s[r] / 12).margin(1e-9));
    }
  }
}

TEST_CASE("the memory of losses, by hand, and the same branch on every rank") {
  run_ranks(2, [](Communicator& comm) {
    const auto expect = [](double got, double wanted) {
      if (!(std::abs(got - wanted) < 1e-12)) throw std::runtime_error(fmt::format("{}", got));
    };
    const bool first = comm.rank() == 0;
    const auto s = [&](double a, double b) {  // of two views of 4 tokens each
      return tilted_weights(std::vector<ViewLoss>{{4 * a, 4}, {4 * b, 4}}, 1)[first ? 0 : 1];
    };
    ViewWeights now({1, 0.75, ViewSettings::Known::this_step});
    expect(now.weight({first ? 4.0 : 8.0, 4}, comm), s(1, 2));
    expect(now.weight({first ? 8.0 : 8.0, 4}, comm), s(1.25, 2));
    expect(now.weight({first ? NAN : 8.0, 4}, comm), 1);
    expect(now.weight({first ? 4.0 : 4.0, 4}, comm), s(1.1875, 1.75));
    ViewWeights past({1, 0.5, ViewSettings::Known::past_steps});
    expect(past.weight({}, comm), 1);  // nothing is known in the first step
    past.end_step({first ? 4.0 : 8.0, 4}, comm);
    expect(past.weight({}, comm), s(1, 2));
    past.end_step({first ? 8.0 : 8.0, 4}, comm);
    expect(past.weight({}, comm), s(1.5, 2));
    past.end_step({first ? 8.0 : NAN, 4}, comm);
    expect(past.weight({}, comm), s(1.5, 2));
  });
  CHECK_THROWS_WITH(ViewWeights({1, 0, ViewSettings::Known::past_steps}),
                    Catch::Contains("loss.ema"));
}

TEST_CASE("temperature 0 is plain data parallelism bit for bit, others are not") {
  const ScratchFolder scratch;
  Config plain = adaptive(scratch.path, 0);
  plain.loss.view_weighting = "uniform";
  const Recording uniform = train(plain, 3);
  CHECK(train(adaptive(scratch.path, 0), 3).final_values == uniform.final_values);
  const Recording tilted = train(adaptive(scratch.path, 2), 3);
  CHECK(tilted.final_values != uniform.final_values);
  // The report has the factors; as all ranks have as many tokens, their mean is 1.
  CHECK(uniform.steps.front().view_weights.empty());
  for (const StepReport& step : tilted.steps) {
    REQUIRE(step.view_weights.size() == 3);
    CHECK(step.view_weights[0] + step.view_weights[1] + step.view_weights[2] == Approx(3));
    CHECK(*std::max_element(step.view_weights.begin(), step.view_weights.end()) > 1);
  }
  CHECK(train(adaptive(scratch.path, 2), 1).final_values == train(plain, 1).final_values);
}

TEST_CASE("the first step of a run goes along the tilted objective's gradient") {
  const ScratchFolder scratch;
  // Plain SGD moves the weights by -lr g. Only along its own gradient the objective f falls by
  // lr |g|², that is by |move|² / lr; f comes from evaluations of both ranks' batches.
  const double t = 30, lr = 2e-4;
  Config config = adaptive(scratch.path, t);
  config.run.steps = 1;
  config.optim.kind = "sgd";
  config.optim.beta1 = 0;
  config.optim.weight_decay = 0;
  config.optim.max_norm = std::numeric_limits<double>::infinity();
  config.optim.lr = lr;
  const auto fall_over_expected = [&] {
    double ratio = 0;
    run_ranks(2, [&](Communicator& comm) {
      Parts parts = build_parts(config, comm);
      Trainer trainer(parts, build_limits(config));
      const Batch batch = parts.loader->micro_batch(0, 0);
      const auto f = [&] {
        const double loss = parts.objective->loss(*parts.model, batch, Pass{}).item();
        const auto n = static_cast<double>(batch.valid_targets);
        const double sum = comm.all_reduce(n * std::exp(t * (loss / n - 3)), Combine::sum);
        return 3 + std::log(sum / comm.all_reduce(n, Combine::sum)) / t;
      };
      const double before = f();
      const auto start = to_doubles(parts.parameters->values());
      trainer.run();
      const double after = f();
      const auto now = to_doubles(parts.parameters->values());
      double moved = 0;
      for (std::size_t i = 0; i < now.size(); ++i)
        moved += (start[i] - now[i]) * (start[i] - now[i]);
      if (comm.rank() == 0) ratio = (before - after) / (moved / lr);
    });
    return ratio;
  };
  CHECK(fall_over_expected() == Approx(1).margin(0.02));
  config.loss.view_weighting = "uniform";
  CHECK(fall_over_expected() != Approx(1).margin(0.03));
}

TEST_CASE("with several micro-batches weights come from past steps, and resume as they were") {
  const ScratchFolder scratch;
  Config config = adaptive(scratch.path, 2, 0.8);
  config.batch.micro_batch = 2;
  config.checkpoint.every = 3;
  const Recording whole = train(config, 3);
  CHECK(train(config, 3, scratch.path + "/ckpt/step-3").final_values == whole.final_values);
  CHECK_THROWS_WITH(train(config, 2, scratch.path + "/ckpt/step-3"),
                    Catch::Contains("resume with 3 ranks"));
  Config uniform = config;
  uniform.loss.view_weighting = "uniform";
  const Recording plain = train(uniform, 3);
  // The first step has no past: it is the plain one.
  CHECK(whole.steps[1].loss == plain.steps[1].loss);
  CHECK(whole.steps[2].loss != plain.steps[2].loss);
}

TEST_CASE("a loss that is not a number on one rank skips the step on all") {
  const ScratchFolder scratch;
  const Recording run = train(adaptive(scratch.path, 1, 0.5), 2, "", [](Parts& parts) {
    if (parts.comm.rank() == 1)
      parts.objective = std::make_unique<Spoiled>(std::move(parts.objective), 2);
  });
  CHECK(run.steps[2].skipped);
  CHECK(run.steps.back().updates == 5);
  CHECK(std::isfinite(run.steps.back().loss));
}

TEST_CASE("where views cannot be weighted is refused with the reason") {
  const ScratchFolder scratch;
  Config config = adaptive(scratch.path, 1);
  CHECK_NOTHROW(validate(config, 2));
  config.batch.micro_batch = 2;
  CHECK_THROWS_WITH(validate(config, 2), Catch::Contains("loss.ema"));
  config.loss.ema = 0.9;
  CHECK_NOTHROW(validate(config, 2));
  for (const std::string rule : {"local_sgd", "diloco"}) {
    config.sync.rule = rule;
    CHECK_THROWS_WITH(validate(config, 2), Catch::Contains("loss.view_weighting adaptive"));
  }
  config.sync.rule = "every_step";
  config.comm.topology = "random_clusters";
  config.comm.cluster_size = 2;
  CHECK_THROWS_WITH(validate(config, 4), Catch::Contains("loss.view_weighting adaptive"));
}
