// Cross entropy: sums and counts across micro-batches, ignored rows, extreme logits.
#include <catch2/catch.hpp>

#include "engine/ops/ops.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

Tensor targets_of(const std::vector<std::int32_t>& targets) {
  return tensor_of(targets, {static_cast<std::int64_t>(targets.size())});
}

// Two-class logits whose loss for target 0 is `loss`: log(1 + e^x) = loss.
double logit_for(double loss) { return std::log(std::expm1(loss)); }

TEST_CASE("the loss of uniform logits is log V a token") {
  const Tensor logits = zeros({3, 50}, DType::f64);
  CHECK(cross_entropy(logits, targets_of({0, 49, 7})).item() ==
        Approx(3 * std::log(50.0)).epsilon(1e-14));
}

TEST_CASE("the z-loss of uniform logits is z (log V)^2 a token, and shifts are no longer free") {
  const double shift = GENERATE(0.0, 3.0), lse = std::log(50.0) + shift, z = 0.01;
  Tensor logits = empty({3, 50}, DType::f64);
  fill(logits, shift);
  logits = with_grad(logits);
  Tape tape;
  const Tensor loss = cross_entropy(logits, targets_of({0, -1, 7}), z);
  CHECK(loss.item() == Approx(2 * (std::log(50.0) + z * lse * lse)).epsilon(1e-14));
  tape.backward(loss);
  const Values g = to_doubles(grad_of(logits));
  const double other = (1 + 2 * z * lse) / 50;
  CHECK(g[0] == Approx(other - 1).epsilon(1e-13));
  CHECK(g[1] == Approx(other).epsilon(1e-13));
  CHECK(g[50] == 0);
  CHECK(g[107] == Approx(other - 1).epsilon(1e-13));
}

TEST_CASE("weighted losses of uniform logits: their sums, and what the weights' gradient is") {
  // Weights of zero make uniform logits: log V and (log V)^2 a token, on three of four tokens.
  const double main = std::log(50.0), square = main * main, a = 0.7, b = -0.2;
  const Tensor x = with_grad(random_tensor({4, 6}, DType::f64, 1));
  const Tensor weight = zeros({52, 6}, DType::f64), targets = targets_of({0, -1, 49, 7});
  const Tensor task_weights = with_grad(tensor_of(Values{a, b}, {2}));
  Tape tape;
  const WeightedLosses losses = head_losses(x, weight, targets, 50, task_weights);
  CHECK(losses.total.item() == Approx(3 * (a * main + b * square)).epsilon(1e-14));
  CHECK(to_doubles(losses.sums)[0] == Approx(3 * main).epsilon(1e-14));
  CHECK(to_doubles(losses.sums)[1] == Approx(3 * square).epsilon(1e-14));
  tape.backward(losses.total, 2);
  CHECK(to_doubles(grad_of(task_weights))[0] == Approx(6 * main).epsilon(1e-14));
  CHECK(to_doubles(grad_of(task_weights))[1] == Approx(6 * square).epsilon(1e-14));
}

TEST_CASE("LOSS-GA: sums and counts, not means of means") {
  // Seven valid tokens of mean loss 2.0 in one micro-batch, one of loss 6.0 in the next.
  const double seven[] = {1.0, 3.0, 2.0, 1.5, 2.5, 0.5, 3.5};
  Values first, second(16, 0.0), all;
  for (double loss : seven) first.insert(first.end(), {0.0, logit_for(loss)});
  first.insert(first.end(), {0.0, 5.0});
  second[1] = logit_for(6.0);
  const Tensor a = with_grad(tensor_of(first, {8, 2})), b = with_grad(tensor_of(second, {8, 2}));
  const Tensor a_targets = targets_of({0, 0, 0, 0, 0, 0, 0, -1});
  const Tensor b_targets = targets_of({0, -1, -1, -1, -1, -1, -1, -1});
  double total = 0;
  for (const auto& [logits, targets] : {std::pair{a, a_targets}, {b, b_targets}}) {
    Tape tape;
    const Tensor loss = cross_entropy(logits, targets);
    total += loss.item();
    tape.backward(loss, 1.0 / 8);
  }
  CHECK(total / 8 == Approx(2.5).epsilon(1e-12));

  // The accumulated gradients are those of one big batch: (softmax - onehot) / 8 by closed form.
  for (const auto& [logits, valid] : {std::pair{a, 7}, {b, 1}}) {
    const Values x = to_doubles(logits), g = to_doubles(grad_of(logits));
    for (int row = 0; row < 8; ++row) {
      const double p = 1 / (1 + std::exp(-x[2 * row + 1]));
      CHECK(g[2 * row + 1] == Approx(row < valid ? p / 8 : 0.0).margin(1e-15));
      CHECK(g[2 * row] == Approx(row < valid ? -p / 8 : 0.0).margin(1e-15));
    }
  }
}

TEST_CASE("LOSS-EMPTY: ignored rows give no loss and no gradient, whatever they hold") {
  for (DType dtype : float_types) {
    INFO(name_of(dtype));
    const Tensor x = with_grad(random_tensor({3, 5}, dtype, 1));
    fill(x.sliced(0, 0, 1), NAN);
    fill(x.sliced(0, 2, 1), INFINITY);
    {
      Tape tape;
      const Tensor loss = cross_entropy(x, targets_of({-1, 2, -1}));
      CHECK(std::isfinite(loss.item()));
      CHECK(loss.item() > 0);
      tape.backward(loss);
      const Values g = to_doubles(grad_of(x));
      for (int i = 0; i < 5; ++i) {
        CHECK(g[i] == 0);
        CHECK(g[10 + i] == 0);
        CHECK(std::isfinite(g[5 + i]));
        CHECK(g[5 + i] != 0);
      }
    }
    x.slot()->written = false;
    Tape tape;
    const Tensor nothing = cross_entropy(x, targets_of({-1, -1, -1}));
    CHECK(nothing.item() == 0);
    tape.backward(nothing);
    CHECK(to_doubles(grad_of(x)) == Values(15, 0));
  }
}

TEST_CASE("no rows at all: loss 0") {
  CHECK(cross_entropy(empty({0, 5}), empty({0}, DType::i32)).item() == 0);
}

TEST_CASE("huge logits neither overflow nor lose the loss") {
  const Tensor x =
      with_grad(tensor_of(std::vector<float>{1e30f, 0, -1e30f, -3e38f, 88, 89}, {2, 3}));
  Tape tape;
  const Tensor loss = cross_entropy(x, targets_of({0, 1}));
  CHECK(loss.item() == Approx(std::log1p(std::exp(1.0))).epsilon(1e-6));
  tape.backward(loss);
  for (double g : to_doubles(grad_of(x))) CHECK(std::isfinite(g));
}

TEST_CASE("a confident target keeps its gradient in narrow types") {
  // p = 1 / (1 + e^-7) = 0.99909: as a bf16 it is 1, and the gradient must not be 1 - 1.
  const double p = 1 / (1 + std::exp(-7.0));
  for (DType dtype : float_types) {
    const Tensor x = with_grad(converted(tensor_of(Values{7, 0}, {1, 2}), dtype));
    Tape tape;
    tape.backward(cross_entropy(x, targets_of({0})));
    const Values g = to_doubles(grad_of(x));
    INFO(name_of(dtype));
    CHECK(g[0] == Approx(p - 1).epsilon(0.005));
    CHECK(g[1] == Approx(1 - p).epsilon(0.005));
  }
}

TEST_CASE("the loss of narrow logits is summed in fp32") {
  const Tensor logits = zeros({4096, 2}, DType::f16);
  const Tensor loss = cross_entropy(logits, zeros({4096}, DType::i32));
  CHECK(loss.dtype() == DType::f32);
  CHECK(loss.item() == Approx(4096 * std::log(2.0)).epsilon(1e-6));
}

}  // namespace
}  // namespace skep::testing
