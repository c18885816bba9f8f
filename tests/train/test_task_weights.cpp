// Task weights: the objective that learns them against finite differences and closed forms, and as
// parameters of a run: the same on all ranks, saved, told.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/autograd/grad_slot.h"
#include "engine/autograd/tape.h"
#include "engine/kernels/copy.h"
#include "train/observe/metrics.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

constexpr double z = 0.03;

Batch small_batch() {
  Batch batch{2, 3, {0, 1, 2, 3, 4, 0}, {1, 2, ignored_target, 4, 0, 1}, 5, {0, 1}};
  return batch;
}

/// A tiny model in fp64 with learned task weights.
struct Subject {
  Subject()
      : model(make_model(config())), objective(make_next_token(z, TaskWeighting::uncertainty)) {
    const std::array<Module*, 2> modules{model.get(), objective->module()};
    store = std::make_unique<ParameterStore>(modules, 3, DType::f64);
  }
  static ModelConfig config() {
    ModelConfig c;
    c.layers = 1, c.heads = 2, c.width = 8, c.context = 4, c.vocab = 5, c.padded_vocab = 5;
    return c;
  }
  Tensor s() const { return store->at("tasks.log_variances").value; }
  void set(double main, double square) const {
    s().data<double>()[0] = main, s().data<double>()[1] = square;
  }
  double loss() const {
    return objective->loss(*model, small_batch(), Pass{Pass::Mode::train}).item();
  }
  void fill_gradients() const {
    store->clear_gradients();
    Tape tape;
    tape.backward(objective->loss(*model, small_batch(), Pass{Pass::Mode::train}));
    store->zero_unwritten();
  }
  /// Cross-entropy and squared log-sum-exp from the logits.
  std::array<double, 2> sums() const {
    const Batch batch = small_batch();
    const auto x = to_doubles((*model)(tensor_of(batch.inputs, {2, 3}), Pass{}));
    std::array<double, 2> sums{};
    for (std::size_t row = 0; row < 6; ++row) {
      if (batch.targets[row] < 0) continue;
      double total = 0;
      for (std::size_t j = 0; j < 5; ++j) total += std::exp(x[5 * row + j]);
      sums[0] += std::log(total) - x[5 * row + static_cast<std::size_t>(batch.targets[row])];
      sums[1] += std::log(total) * std::log(total);
    }
    return sums;
  }

  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<Objective> objective;
  std::unique_ptr<ParameterStore> store;
};

Config learned(const std::string& folder) {
  Config config = small_config(folder);
  config.run.steps = 8;
  config.checkpoint.dir = folder + "/ckpt";
  config.loss.z_weight = 0.01;
  config.loss.task_weighting = "uncertainty";
  config.optim.lr = 0.01;
  return config;
}

const TaskReport& task(const StepReport& step, std::size_t i) { return step.tasks.at(i); }

}  // namespace

TEST_CASE("learned task weights: the loss in closed form, for any log-variances") {
  const Subject subject;
  const auto [main, square] = subject.sums();
  for (const auto& [a, b] : {std::pair{0.0, 0.0}, {0.4, -0.7}, {-1.3, 2.0}}) {
    subject.set(a, b);
    CHECK(subject.loss() ==
          Approx(std::exp(-a) * main + std::exp(-b) * z * square + 5 * (a + b)).epsilon(1e-13));
  }
  // What is learned is not in a validation loss.
  CHECK(subject.objective->loss(*subject.model, small_batch(), Pass{}).item() ==
        Approx(main).epsilon(1e-13));
  const std::vector<Task> tasks = subject.objective->tasks();
  CHECK(tasks[0].loss_sum == Approx(main).epsilon(1e-13));
  CHECK(tasks[1].loss_sum == Approx(square).epsilon(1e-13));
  CHECK(tasks[0].weight == Approx(std::exp(1.3)).epsilon(1e-14));
  CHECK(tasks[1].weight == Approx(std::exp(-2.0) * z).epsilon(1e-14));
}

TEST_CASE("learned task weights: gradients agree with finite differences") {
  const Subject subject;
  subject.set(0.4, -0.7);
  subject.fill_gradients();
  const auto gradient = to_doubles(subject.store->grads());
  const auto own = to_doubles(subject.store->at("tasks.log_variances").grad);
  for (std::size_t i = 0; i < 2; ++i) {
    double& s = subject.s().data<double>()[i];
    const double middle = s, h = 1e-5;
    s = middle + h;
    const double up = subject.loss();
    s = middle - h;
    const double down = subject.loss();
    s = middle;
    CHECK(own[i] == Approx((up - down) / (2 * h)).epsilon(1e-8));
  }
  // All parameters at once: along the gradient g the loss changes by |g|² a unit.
  double square = 0;
  for (const double g : gradient) square += g * g;
  double* values = subject.store->values().data<double>();
  const auto move = [&](double by) {
    for (std::size_t i = 0; i < gradient.size(); ++i) values[i] += by * gradient[i];
  };
  const double h = 1e-5;
  move(h);
  const double up = subject.loss();
  move(-2 * h);
  const double down = subject.loss();
  CHECK((up - down) / (2 * h) == Approx(square).epsilon(1e-6));
}

TEST_CASE("learned task weights settle where each task contributes one") {
  const Subject subject;
  const auto [main, square] = subject.sums();
  subject.set(std::log(main / 5), std::log(z * square / 5));
  subject.fill_gradients();
  for (const double g : to_doubles(subject.store->at("tasks.log_variances").grad))
    CHECK(std::abs(g) < 1e-12);
  CHECK(subject.loss() ==
        Approx(5 * (2 + std::log(main / 5) + std::log(z * square / 5))).epsilon(1e-13));
}

TEST_CASE("loss.task_weighting: the first step moves the log-variances by the closed form") {
  const ScratchFolder scratch;
  Config config = learned(scratch.path);
  config.run.steps = 2;
  config.optim.kind = "sgd";
  config.optim.beta1 = 0;
  config.optim.weight_decay = 0;
  config.optim.max_norm = std::numeric_limits<double>::infinity();
  const Recording run = train(config, 2);
  const StepReport &step = run.steps[0], &second = run.steps[1];
  CHECK(task(step, 0).name == "next_token");
  CHECK(task(step, 1).name == "z_loss");
  // They begin at 0; the gradient of s_i is 1 - w_i L_i.
  CHECK(*task(step, 0).log_variance == 0);
  CHECK(*task(second, 0).log_variance == Approx(-0.01 * (1 - task(step, 0).loss)).epsilon(1e-5));
  CHECK(*task(second, 1).log_variance ==
        Approx(-0.01 * (1 - 0.01 * task(step, 1).loss)).epsilon(1e-5));
  CHECK(step.loss == Approx(task(step, 0).loss + 0.01 * task(step, 1).loss).epsilon(1e-6));
  CHECK(task(step, 1).weight == Approx(0.01).epsilon(1e-12));
  CHECK(task(second, 1).weight ==
        Approx(0.01 * std::exp(-*task(second, 1).log_variance)).epsilon(1e-12));
  // At the start the model knows nothing: both losses are near those of uniform logits.
  CHECK(task(step, 1).loss == Approx(task(step, 0).loss * task(step, 0).loss).epsilon(0.05));
}

TEST_CASE("loss.task_weighting: fixed weights are as given, and told with the losses") {
  const ScratchFolder scratch;
  Config config = learned(scratch.path);
  config.loss.task_weighting = "fixed";
  const Recording fixed = train(config, 2);
  for (const StepReport& step : fixed.steps) {
    CHECK(task(step, 0).weight == 1);
    CHECK(task(step, 1).weight == 0.01);
    CHECK_FALSE(task(step, 0).log_variance);
    CHECK(step.loss == Approx(task(step, 0).loss + 0.01 * task(step, 1).loss).epsilon(1e-6));
  }
  config.loss.task_weighting = "uncertainty";
  const Recording learning = train(config, 2);
  CHECK(learning.steps[0].loss == Approx(fixed.steps[0].loss).epsilon(1e-6));
  CHECK(task(learning.steps[7], 0).loss != task(fixed.steps[7], 0).loss);
  CHECK(learning.final_values.size() > fixed.final_values.size());
  config.loss.task_weighting = "fixed";
  config.loss.z_weight = 0;
  CHECK(train(config, 1).steps.front().tasks.empty());
}

TEST_CASE("loss.task_weighting: any number of ranks learns the same weights, exactly if asked") {
  const ScratchFolder scratch;
  Config config = learned(scratch.path);
  config.optim.lr = 1e-3;
  const Recording one = train(config, 1);
  for (const int ranks : {2, 3}) {
    const Recording many = train(config, ranks);  // compares the ranks' parameters at every step
    for (std::size_t i = 0; i < one.steps.size(); ++i) {
      CHECK(many.steps[i].loss == Approx(one.steps[i].loss).epsilon(2e-5));
      for (std::size_t t : {0, 1}) {
        CHECK(task(many.steps[i], t).loss == Approx(task(one.steps[i], t).loss).epsilon(2e-5));
        CHECK(*task(many.steps[i], t).log_variance ==
              Approx(*task(one.steps[i], t).log_variance).epsilon(2e-4));
      }
    }
  }
  config.batch.micro_batch = 2;
  config.comm.reduction = "exact";
  CHECK(train(config, 2).final_values == train(config, 3).final_values);
}

TEST_CASE("loss.task_weighting: resuming goes on with what was learned, at any number of ranks") {
  const ScratchFolder scratch;
  Config config = learned(scratch.path);
  config.checkpoint.every = 3;
  config.loss.view_weighting = GENERATE(as<std::string>{}, "uniform", "adaptive");
  config.precision.compute = GENERATE(as<std::string>{}, "fp32", "bf16");
  const Recording whole = train(config, 2);
  const std::string saved = scratch.path + "/ckpt/step-3";
  CHECK(train(config, 2, saved).final_values == whole.final_values);
  CHECK(*task(train(config, 3, saved).steps.back(), 0).log_variance ==
        Approx(*task(whole.steps.back(), 0).log_variance).epsilon(1e-2));
}

TEST_CASE("loss.task_weighting: ranks that train by themselves average what they learned") {
  const ScratchFolder scratch;
  Config config = learned(scratch.path);
  config.sync.rule = "local_sgd";
  config.sync.period = 4;
  const Recording local = train(config, 2);
  const Recording every = train(learned(scratch.path), 2);
  CHECK(*task(local.steps.back(), 0).log_variance ==
        Approx(*task(every.steps.back(), 0).log_variance).epsilon(0.05));
}

TEST_CASE("tasks stand in metrics.jsonl under their names") {
  StepReport report;
  CHECK_FALSE(step_fields(report).contains("tasks"));
  report.tasks = {{"next_token", 2.5, 0.5, 0.75}, {"z_loss", 9, 0.125}};
  const nlohmann::json tasks = step_fields(report).at("tasks");
  CHECK(tasks == nlohmann::json::parse(
                     R"({"next_token": {"loss": 2.5, "weight": 0.5, "log_variance": 0.75},
                         "z_loss": {"loss": 9.0, "weight": 0.125}})"));
}
