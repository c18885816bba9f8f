// What training minimises: the z-loss is added while training, by the weight that the
// configuration names, and never to a validation loss.
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/autograd/tape.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

struct Seen {
  double loss = 0, squares = 0;  // squares: of the log-sum-exp of the logits of each token
};

// The training and the validation loss of a configuration's first batch, before any update.
struct Losses {
  Seen training, validation;
};

double sum_of_squares(const Tensor& logits, const Batch& batch) {
  const auto x = to_doubles(logits);
  const std::size_t V = logits.size(-1);
  double total = 0;
  for (std::size_t row = 0; row < batch.targets.size(); ++row) {
    if (batch.targets[row] < 0) continue;
    double sum = 0;
    for (std::size_t j = 0; j < V; ++j) sum += std::exp(x[row * V + j]);
    total += std::log(sum) * std::log(sum);
  }
  return total;
}

Losses losses_of(const Config& config) {
  Losses losses;
  run_ranks(1, [&](Communicator& comm) {
    Parts parts = build_parts(config, comm);
    const Batch batch = parts.loader->micro_batch(0, 0);
    const Tensor inputs = tensor_of(batch.inputs, {batch.B, batch.T});
    const NoGrad pause;
    const double squares = sum_of_squares((*parts.model)(inputs, Pass{}), batch);
    const auto loss = [&](Pass::Mode mode) {
      return Seen{parts.objective->loss(*parts.model, batch, Pass{mode}).item(), squares};
    };
    losses = {loss(Pass::Mode::train), loss(Pass::Mode::evaluate)};
  });
  return losses;
}

}  // namespace

TEST_CASE("loss.z_weight adds its share of the squared log-sum-exp, to the training loss alone") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  const Losses plain = losses_of(config);
  CHECK(plain.training.loss == plain.validation.loss);
  config.loss.z_weight = 0.125;
  const Losses z = losses_of(config);
  CHECK(z.training.loss - plain.training.loss == Approx(0.125 * z.training.squares).epsilon(1e-5));
  CHECK(z.validation.loss == plain.validation.loss);
}

TEST_CASE("loss.z_weight reaches the trainer's loop and changes what is learned") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 2;
  const Losses at_start = losses_of(config);
  const Recording plain = train(config, 2);
  config.loss.z_weight = 0.125;
  const Recording z = train(config, 2);
  const double tokens = static_cast<double>(z.steps[0].tokens);
  CHECK(z.steps[0].loss - plain.steps[0].loss ==
        Approx(0.125 * at_start.training.squares / tokens).epsilon(1e-4));
  CHECK(z.steps[0].grad_norm != Approx(plain.steps[0].grad_norm).epsilon(1e-3));
  CHECK(z.validations.front() != plain.validations.front());
}
