// Recomputation and lost numbers, seen from the trainer: the same bits with less memory, and the
// name of the layer, op and rank where infinity began.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/autograd/tape.h"
#include "engine/backends/backend.h"
#include "engine/kernels/copy.h"
#include "engine/ops/ops.h"
#include "train/explain.h"
#include "train/sync/every_step.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string message_with(const Recording& run, const std::string& part) {
  for (const std::string& message : run.messages)
    if (message.find(part) != message.npos) return message;
  return "";
}

// x, whose gradient in backward is infinite.
struct Spoil final : Node {
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    const NoGrad pause;
    sink.give(0, scale(grads[0], infinity));
  }
};

Tensor spoil_gradient(const Tensor& x) {
  if (!x.wants_grad()) return x;  // a loss that nobody goes back from
  auto node = std::make_unique<Spoil>();
  node->set_name("spoil");
  node->inputs.push_back(x.slot());
  Tensor y = x;
  y = with_grad(std::move(y));
  node->outputs.push_back(y.slot());
  Tape::current()->record(std::move(node));
  return y;
}

// What a rank does with its loss.
struct Changing final : Objective {
  Changing(std::function<Tensor(const Tensor&)> c, std::function<bool()> w)
      : change(std::move(c)), when(std::move(w)) {}
  std::function<Tensor(const Tensor&)> change;
  std::function<bool()> when;
  Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
    const Tensor loss = make_next_token()->loss(model, batch, pass);
    return when() ? change(loss) : loss;
  }
};

Recording changing(const Config& config, int ranks, int bad_rank,
                   const std::function<Tensor(const Tensor&)>& change) {
  return train(config, ranks, "", [&](Parts& parts) {
    parts.validation.reset();
    const bool bad = parts.comm.rank() == bad_rank;
    parts.objective = std::make_unique<Changing>(change, [bad] { return bad; });
  });
}

void plant_infinity(Parts& parts, const std::string& path) {
  parts.parameters->at(path).value.data<float>()[5] = INFINITY;
  parts.parameters->commit();
}

}  // namespace

TEST_CASE("model.recompute: the same bits at 1 and 3 ranks, with dropout and accumulation") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 4;
  config.model.dropout = 0.2;
  config.batch.micro_batch = 2;
  config.precision.compute = GENERATE("fp32", "bf16");
  for (const int ranks : {1, 3}) {
    INFO(config.precision.compute << ", " << ranks << " ranks");
    config.model.recompute = false;
    const Recording kept = train(config, ranks);
    config.model.recompute = true;
    const Recording again = train(config, ranks);
    CHECK(again.final_values == kept.final_values);
    for (std::size_t i = 0; i < kept.steps.size(); ++i) {
      CHECK(again.steps[i].loss == kept.steps[i].loss);
      CHECK(again.steps[i].grad_norm == kept.steps[i].grad_norm);
    }
  }
}

TEST_CASE("model.recompute: the peak of memory falls as predicted") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 1;
  config.model.layers = 8;
  config.model.context = 64;
  config.model.width = 64;
  struct Costs {
    double predicted = 0, measured = 0;
  };
  const auto costs = [&](bool recompute) {
    Costs found;
    config.model.recompute = recompute;
    train(config, 1, "", [&](Parts& parts) {
      parts.validation.reset();
      found.predicted = predict_step_costs(parts).activation_bytes;
      backend({}).reset_peak();
      found.measured = -static_cast<double>(backend({}).memory().in_use);
    });
    found.measured += static_cast<double>(backend({}).memory().peak);
    return found;
  };
  const Costs kept = costs(false), again = costs(true);
  CAPTURE(kept.predicted, kept.measured, again.predicted, again.measured);
  CHECK(again.measured < 0.4 * kept.measured);
  CHECK(kept.measured == Approx(kept.predicted).epsilon(0.25));
  CHECK(again.measured == Approx(again.predicted).epsilon(0.35));
}

TEST_CASE("an infinite weight: layer, op and all ranks are named; the run ends with 4") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 50;
  config.comm.hash_every = 0;
  config.model.recompute = GENERATE(false, true);
  std::filesystem::create_directories(config.run.dir);
  try {
    train(config, 2, "", [](Parts& parts) { plant_infinity(parts, "blocks.1.mlp.up.weight"); });
    FAIL("the run did not end");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::non_finite);
    CHECK_THAT(error.what(),
               Catch::Contains("20 steps in a row") &&
                   Catch::Contains("step 1: ranks 0, 1: blocks.1.mlp.up (linear, whose weight is "
                                   "not finite) is the first output that is not finite"));
  }
  const auto json =
      nlohmann::json::parse(read_file(config.run.dir + "/bad_batch.rank-1.step-20.json"));
  CHECK(json["step"] == 20);
  CHECK(json["rank"] == 1);
  // Rank 1 of 2 has the second half of 12 sequences; 19 steps went before.
  CHECK(json["samples"] == std::vector<std::int64_t>{234, 235, 236, 237, 238, 239});
  CHECK(json["tokens"].size() == 6);
  CHECK(json["tokens"][0].size() == 16);
  // What follows a token is the next one.
  CHECK(json["tokens"][2][1] == json["targets"][2][0]);
}

TEST_CASE("an infinite loss or gradient on one rank: that rank alone is named") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 2;
  std::filesystem::create_directories(config.run.dir);
  const Recording output =
      changing(config, 3, 2, [](const Tensor& loss) { return scale(loss, infinity); });
  CHECK(output.steps[0].skipped);
  CHECK(message_with(output, "rank") ==
        "step 1: rank 2: the loss (scale) is the first output that is not finite");
  CHECK(std::filesystem::exists(config.run.dir + "/bad_batch.rank-2.step-2.json"));
  CHECK_FALSE(std::filesystem::exists(config.run.dir + "/bad_batch.rank-0.step-1.json"));

  const Recording gradient = changing(config, 3, 1, spoil_gradient);
  CHECK(gradient.steps[1].skipped);
  CHECK_THAT(message_with(gradient, "rank"),
             Catch::StartsWith("step 1: rank 1: every output is finite; the gradient ") &&
                 Catch::Contains(" is the first that is not"));
}

TEST_CASE("ranks that are apart look for themselves, and the others go on") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 3;
  config.comm.hash_every = 0;
  config.sync.rule = "local_sgd";
  config.sync.period = 100;
  const Recording run =
      changing(config, 3, 0, [](const Tensor& loss) { return scale(loss, infinity); });
  CHECK(run.steps.size() == 3);
  CHECK(run.steps[0].skipped);
  CHECK(message_with(run, "rank 0: the loss (scale)") != "");
}

TEST_CASE("fp16: while the loss scale can fall nothing is searched; then the layer is named") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 2;
  config.precision.compute = "fp16";
  const auto explode = [](const Tensor& loss) { return scale(loss, infinity); };
  CHECK(message_with(changing(config, 2, 1, explode), "rank 1") == "");
  config.precision.min_scale = 65536;
  CHECK_THROWS_WITH(changing(config, 2, 1, explode), Catch::Contains("min_scale"));
}

TEST_CASE("FP16-SUM: four fp16 ranks with gradients of 30000: the mean is 30000") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 1;
  config.precision.compute = "fp16";
  run_ranks(4, [&](Communicator& comm) {
    Parts parts = build_parts(config, comm);
    ParameterStore& store = *parts.parameters;
    // In fp16 the sum, 120000, would be infinite.
    fill(store.grads(), 30000);
    const auto ring = make_topology("ring");
    const StepTotals totals = make_every_step(make_fast_reduction(), {})
                                  ->after_backward(store, {1, 1}, {comm, *ring, 1, 0})
                                  .summed;
    for (const double g : to_doubles(store.grads()))
      if (g / totals.tokens != 30000) throw std::runtime_error("mean " + std::to_string(g));
  });
}
