// Runs with chaotic sharding: the objective is that of the data, a run repeats and resumes bit for
// bit, and what cannot be is refused.
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/autograd/no_grad.h"
#include "engine/autograd/tape.h"
#include "engine/core/random.h"
#include "train/data/chaos_seed.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

// 170 windows; 3 ranks meet 70 each an epoch, 20 of them common.
Config chaotic(const std::string& folder) {
  Config config = small_config(folder);
  config.checkpoint.dir = folder + "/ckpt";
  config.data.sharding = "chaos";
  config.data.chaos_seed = 7;
  config.data.common_fraction = 0.3;
  return config;
}

/// Rows [first, first + count) of a batch as a batch of their own, none of them common.
Batch rows_of(const Batch& batch, std::int64_t first, std::int64_t count) {
  Batch part;
  part.B = count;
  part.T = batch.T;
  const auto cut = [&](const auto& all, std::int64_t unit) {
    return std::decay_t<decltype(all)>(all.begin() + first * unit,
                                       all.begin() + (first + count) * unit);
  };
  part.inputs = cut(batch.inputs, batch.T);
  part.targets = cut(batch.targets, batch.T);
  part.samples = cut(batch.samples, 1);
  return part;
}

/// Loss and gradient of a batch in training.
std::pair<double, std::vector<double>> learn(Parts& parts, const Batch& batch) {
  parts.parameters->clear_gradients();
  Tape tape;
  const Tensor loss = parts.objective->loss(*parts.model, batch, training_pass(batch, 1));
  tape.backward(loss);
  return {loss.item(), to_doubles(parts.parameters->grads())};
}

/// The sum of the losses of all windows under the first weights, cut as in the first epoch.
double loss_of_the_data(const Config& config) {
  double sum = 0;
  run_ranks(1, [&](Communicator& comm) {
    const NoGrad pause;
    Parts parts = build_parts(config, comm);
    const Dataset& data = *parts.train_data;
    for (std::int64_t window = 0; window < data.shifted_windows(); ++window) {
      Batch batch;
      batch.B = 1;
      batch.T = data.context();
      batch.inputs.resize(static_cast<std::size_t>(batch.T));
      batch.targets.resize(batch.inputs.size());
      data.fill(window, batch.inputs, batch.targets, window_shift(7, 0, batch.T));
      sum += parts.objective->loss(*parts.model, batch, Pass{}).item();
    }
  });
  return sum;
}

void require_refused(const std::function<void(Config&)>& change, std::int64_t ranks,
                     const std::string& words) {
  const ScratchFolder scratch;
  Config config = chaotic(scratch.path);
  REQUIRE_NOTHROW(validate(config, ranks));
  change(config);
  CHECK_THROWS_WITH(validate(config, ranks), Catch::Contains(words));
}

}  // namespace

TEST_CASE("common rows weigh less in loss and gradient, and keep their dropout") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.model.dropout = 0.2;
  config.loss.z_weight = 0.1;
  run_ranks(1, [&](Communicator& comm) {
    Parts parts = build_parts(config, comm);
    Batch batch = parts.loader->micro_batch(0, 0);
    for (const std::int64_t common : {0, 5, 12}) {
      batch.common_rows = common;
      batch.common_weight = 0.25;
      const auto [loss, gradient] = learn(parts, batch);
      double expected = 0;
      std::vector<double> expected_gradient(gradient.size());
      for (std::int64_t row = 0; row < 12; ++row) {
        const double weight = row < 12 - common ? 1 : 0.25;
        const auto [row_loss, row_gradient] = learn(parts, rows_of(batch, row, 1));
        expected += weight * row_loss;
        for (std::size_t i = 0; i < gradient.size(); ++i)
          expected_gradient[i] += weight * row_gradient[i];
      }
      CHECK(loss == Approx(expected).epsilon(1e-5));
      double off = 0, size = 0;
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        off += std::pow(gradient[i] - expected_gradient[i], 2);
        size += std::pow(expected_gradient[i], 2);
      }
      CHECK(std::sqrt(off / size) < 1e-5);
    }
  });
}

TEST_CASE("a chaotic epoch's loss under fixed weights is that of the data") {
  const ScratchFolder scratch;
  // 2 ranks meet 106 of 170 windows each, 42 of them common: 53 steps of 4 sequences.
  Config config = chaotic(scratch.path);
  config.data.common_fraction = 0.4;
  config.optim.lr = 0;
  config.batch.global_batch = 4;
  config.run.steps = 53;
  const double expected = loss_of_the_data(config);
  config.batch.micro_batch = GENERATE(1, 2);
  const Recording run = train(config, 2);
  double loss = 0, counted = 0;
  for (const StepReport& step : run.steps) {
    const double tokens = step.tokens_per_second * step.step_seconds;
    loss += step.loss * tokens;
    counted += tokens;
  }
  CHECK(run.steps.back().epoch == 1);
  CHECK(counted == Approx(2699).epsilon(1e-9));  // targets of int(0.9 × 3,001) tokens
  CHECK(std::abs(static_cast<double>(run.steps.back().tokens) - 2699) <= 53 / 2.0);
  CHECK(loss == Approx(expected).epsilon(1e-5));
}

TEST_CASE("a chaotic run repeats with its seed and resumes bit for bit, in the second epoch too") {
  const ScratchFolder scratch;
  Config config = chaotic(scratch.path);
  config.run.steps = 22;
  config.checkpoint.every = 9;
  config.checkpoint.keep = 9;
  config.batch.micro_batch = 2;
  config.model.dropout = 0.1;
  const Recording whole = train(config, 3);
  CHECK(whole.steps.back().epoch == Approx(22 * 12 / 210.0));
  Config again = config;
  again.checkpoint.dir = scratch.path + "/again";
  again.data.workers = 2;
  again.comm.overlap = false;
  CHECK(train(again, 3).final_values == whole.final_values);
  for (const char* step : {"step-9", "step-18"})
    CHECK(train(again, 3, scratch.path + "/ckpt/" + step).final_values == whole.final_values);
  const auto differs = [&](const std::function<void(Config&)>& change) {
    Config other = again;
    change(other);
    return train(other, 3).final_values != whole.final_values;
  };
  CHECK(differs([](Config& c) { c.data.chaos_seed = 8; }));
  CHECK(differs([](Config& c) { c.data.common_fraction = 0.6; }));
  CHECK(differs([](Config& c) {
    c.data.sharding = "even";
    c.data.common_fraction = 0;
  }));
}

TEST_CASE("a checkpoint of a chaotic run keeps its seed, and is refused to another deal") {
  const ScratchFolder scratch;
  Config config = chaotic(scratch.path);
  config.run.steps = 2;
  train(config, 3);
  const std::string saved = scratch.path + "/ckpt/step-2";
  CHECK(saved_chaos_seed(saved) == 7);
  CHECK(saved_chaos_seed(scratch.path + "/ckpt/step-3") == 0);
  const auto refused = [&](int ranks, const std::function<void(Config&)>& change,
                           const std::string& words) {
    Config other = config;
    change(other);
    CHECK_THROWS_WITH(train(other, ranks, saved), Catch::Contains(words));
  };
  refused(
      2, [](Config&) {}, "has dealt the data of this run to 3 ranks, not to 2: resume with 3");
  refused(
      3, [](Config& c) { c.data.chaos_seed = 8; }, "data.chaos_seed was 7, now it is 8");
  refused(
      3, [](Config& c) { c.data.common_fraction = 0.6; },
      "number of common samples (data.common_fraction) was 20, now it is 56");
  refused(
      3, [](Config& c) { c.data.sharding = "even"; }, "data.sharding was chaos, now it is even");
  // Where ranks are apart, each has a state of its own.
  config.data.common_fraction = 0;
  config.sync.rule = "local_sgd";
  config.checkpoint.dir = scratch.path + "/apart";
  train(config, 2);
  CHECK(saved_chaos_seed(scratch.path + "/apart/step-2") == 7);
  config.data.sharding = "even";
  config.sync.rule = "every_step";
  config.checkpoint.dir = scratch.path + "/even";
  train(config, 2);
  CHECK(saved_chaos_seed(scratch.path + "/even/step-2") == 0);
}

TEST_CASE("chaos goes with codecs, exact sums, accumulation and weights of views") {
  const ScratchFolder scratch;
  Config config = chaotic(scratch.path);
  const auto change = GENERATE(
      as<std::function<void(Config&)>>{}, [](Config& c) { c.compress.codec = "int8"; },
      [](Config& c) {
        c.sync.rule = "accumulate";
        c.sync.period = 4;
      },
      [](Config& c) {
        c.loss.view_weighting = "adaptive";
        c.loss.ema = 0.5;
      },
      [](Config& c) { c.comm.reduction = "exact"; });
  change(config);
  REQUIRE_NOTHROW(validate(config, 3));
  config.checkpoint.every = 6;
  config.checkpoint.keep = 9;
  const Recording whole = train(config, 3);
  CHECK(whole.steps.back().loss < whole.steps.front().loss);
  CHECK(train(config, 3, scratch.path + "/ckpt/step-6").final_values == whole.final_values);
  if (config.comm.reduction != "exact") return;
  config.comm.topology = "tree";
  CHECK(train(config, 3).final_values == whole.final_values);
}

TEST_CASE("rank 0 draws the seed for all, another one each time") {
  run_ranks(3, [](Communicator& comm) {
    const std::string host = fmt::format("host-{}", comm.rank());
    const std::int64_t seed = draw_chaos_seed(comm, host), next = draw_chaos_seed(comm, host);
    check(seed >= 1 && seed <= std::int64_t{1} << 31, "seed {}", seed);
    check(seed != next, "{} twice", seed);
    check(comm.all_equal(static_cast<std::uint64_t>(seed)).empty(), "seeds differ");
  });
}

TEST_CASE("what cannot be had with common samples is refused with the reason") {
  require_refused([](Config& c) { c.data.sharding = "even"; }, 2,
                  "data.common_fraction 0.3 needs data.sharding chaos");
  require_refused([](Config& c) { c.data.drop_last = true; }, 2,
                  "data.drop_last cannot be combined with data.sharding chaos");
  for (const char* rule : {"local_sgd", "diloco"})
    require_refused([&](Config& c) { c.sync.rule = rule; }, 2,
                    "divide by their own tokens, so common samples would weigh as much");
  require_refused(
      [](Config& c) {
        c.comm.topology = "random_clusters";
        c.comm.cluster_size = 2;
      },
      4, "data.common_fraction 0.3 cannot be had");
  const ScratchFolder scratch;
  Config without = chaotic(scratch.path);
  without.data.common_fraction = 0;
  without.sync.rule = "local_sgd";
  CHECK_NOTHROW(validate(without, 2));
}
