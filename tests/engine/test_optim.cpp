// Optimizers against numbers worked out by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/kernels/copy.h"
#include "engine/optim/optimizer.h"

using namespace skep;

namespace {

const std::vector<FlatRange> half_decays = {{0, 2, FlatRange::Decay::yes},
                                            {2, 4, FlatRange::Decay::no}};

Tensor factor(double value) { return tensor_of(std::vector<double>{value}, {}); }

}  // namespace

TEST_CASE("SGD: momentum, decoupled decay where it applies, one factor on the gradient") {
  const DType dtype = GENERATE(DType::f32, DType::f64);
  const Tensor values = converted(tensor_of(std::vector<double>{1, 2, 3, 4}, {4}), dtype);
  const Tensor grads = converted(tensor_of(std::vector<double>{10, 20, 30, 40}, {4}), dtype);
  const auto sgd = make_sgd({0.5, 0, 0, 0.1}, values);
  sgd->update(values, grads, half_decays, 0.1, factor(0.1));  // m = g = 1, 2, 3, 4
  const auto first = to_doubles(values);
  CHECK(first[0] == Approx(1 * 0.99 - 0.1));
  CHECK(first[1] == Approx(2 * 0.99 - 0.2));
  CHECK(first[2] == Approx(2.7));
  CHECK(first[3] == Approx(3.6));
  sgd->update(values, grads, half_decays, 0.1, factor(0.1));  // m = 1.5 g
  const auto second = to_doubles(values);
  CHECK(second[0] == Approx((0.99 - 0.1) * 0.99 - 0.15));
  CHECK(second[3] == Approx(3.6 - 0.6));
  CHECK(sgd->updates() == 2);
}

TEST_CASE("AdamW: the first step is lr times the sign, decay apart from it") {
  const DType dtype = GENERATE(DType::f32, DType::f64);
  const Tensor values = converted(tensor_of(std::vector<double>{1, 1, 1, 1}, {4}), dtype);
  const Tensor grads = converted(tensor_of(std::vector<double>{5, -3, 0.01, 0}, {4}), dtype);
  const auto adamw = make_adamw({0.9, 0.99, 1e-12, 0.2}, values);
  adamw->update(values, grads, half_decays, 0.1, factor(1));
  const auto after = to_doubles(values);
  CHECK(after[0] == Approx(0.98 - 0.1));
  CHECK(after[1] == Approx(0.98 + 0.1));
  CHECK(after[2] == Approx(0.9));
  CHECK(after[3] == 1);  // no gradient, no decay: untouched
}

TEST_CASE("AdamW: the second step follows both moments and their corrections") {
  const Tensor values = tensor_of(std::vector<double>{0}, {1});
  const std::vector<FlatRange> all = {{0, 1, FlatRange::Decay::no}};
  const auto adamw = make_adamw({0.9, 0.99, 0, 0}, values);
  adamw->update(values, tensor_of(std::vector<double>{2}, {1}), all, 1, factor(1));
  adamw->update(values, tensor_of(std::vector<double>{-1}, {1}), all, 1, factor(1));
  // m = 0.9 0.2 - 0.1 = 0.08, v = 0.99 0.04 + 0.01 = 0.0496; corrected 0.08/0.19 and 0.0496/0.0199.
  CHECK(values.item() == Approx(-1 - (0.08 / 0.19) / std::sqrt(0.0496 / 0.0199)));
}

TEST_CASE("a factor of 0 leaves values, moments and corrections as they are") {
  const bool adamw = GENERATE(true, false);
  const auto after = [&](bool with_gap) {
    const Tensor values = tensor_of(std::vector<double>{1, 2, 3, 4}, {4});
    const Tensor grads = tensor_of(std::vector<double>{1, -2, 3, NAN}, {4});
    const Tensor good = tensor_of(std::vector<double>{1, -2, 3, 5}, {4});
    const OptimizerSettings settings{0.9, 0.99, 1e-8, 0.1};
    const auto optimizer = adamw ? make_adamw(settings, values) : make_sgd(settings, values);
    for (int step = 0; step < 3; ++step) {
      optimizer->update(values, good, half_decays, 0.1, factor(0.5));
      if (!with_gap) continue;
      optimizer->update(values, grads, half_decays, 0.1, factor(0));
      optimizer->uncount();
    }
    CHECK(optimizer->updates() == 3);
    return to_doubles(values);
  };
  CHECK(after(true) == after(false));
}
