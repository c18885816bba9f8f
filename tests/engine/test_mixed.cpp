// Mixed precision: narrow operands, wide sums. Against the same op on the narrow operands' exact
// values in fp64.
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/autograd/tape.h"
#include "engine/kernels/copy.h"
#include "engine/ops/ops.h"
#include "helpers.h"

using namespace skep;
using namespace skep::testing;

namespace {

double distance(const Tensor& a, const Tensor& b) {
  const auto x = to_doubles(a), y = to_doubles(b);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    norm += y[i] * y[i];
  }
  return std::sqrt(difference / norm);
}

// A narrow leaf whose gradient gathers in fp32, as a parameter's does.
Tensor leaf_with_wide_gradient(const Tensor& narrow) {
  Tensor t = with_grad(narrow);
  t.slot()->dtype = DType::f32;
  return t;
}

}  // namespace

TEST_CASE("linear: narrow operands, fp32 bias, result and weight gradient") {
  const DType narrow = GENERATE(DType::bf16, DType::f16);
  const Tensor x = random_tensor({7, 33}, narrow, 1), w = random_tensor({17, 33}, narrow, 2);
  const Tensor bias = random_tensor({17}, DType::f32, 3);
  const auto run = [&](const Tensor& xi, const Tensor& wi, const Tensor& bi,
                       std::optional<DType> result) {
    Tape tape;
    const Tensor y = linear(xi, wi, bi, result);
    tape.backward(sum(mul(cast(y, DType::f64), random_tensor({7, 17}, DType::f64, 4))));
    return y;
  };
  const Tensor xd = with_grad(converted(x, DType::f64)), wd = with_grad(converted(w, DType::f64));
  const Tensor bd = with_grad(converted(bias, DType::f64));
  const Tensor expected = run(xd, wd, bd, std::nullopt);
  const Tensor xn = with_grad(x), wn = leaf_with_wide_gradient(w), bn = with_grad(bias);
  const Tensor y = run(xn, wn, bn, DType::f32);
  CHECK(y.dtype() == DType::f32);
  CHECK(distance(y, expected) < 1e-6);  // products of narrow numbers, summed in fp32
  CHECK(grad_of(wn).dtype() == DType::f32);
  CHECK(grad_of(xn).dtype() == narrow);
  CHECK(distance(grad_of(bn), grad_of(bd)) < 1e-6);
  CHECK(distance(grad_of(wn), grad_of(wd)) < 5e-3);  // dy is rounded to the narrow type
  CHECK(distance(grad_of(xn), grad_of(xd)) < 8e-3);
  CHECK(run(with_grad(x), with_grad(w), bias, std::nullopt).dtype() == narrow);
  CHECK_THROWS_WITH(linear(x, converted(w, DType::f32), {}),
                    Catch::Contains("must share one type"));
}

TEST_CASE("layer_norm: wide in, narrow out, wide gradients") {
  const Tensor x = random_tensor({9, 40}, DType::f32, 1), gain = random_tensor({40}, DType::f32, 2);
  const Tensor bias = random_tensor({40}, DType::f32, 3);
  const auto run = [&](const Tensor& xi, const Tensor& gi, const Tensor& bi,
                       std::optional<DType> result) {
    Tape tape;
    const Tensor y = layer_norm(xi, gi, bi, 1e-5, result);
    tape.backward(sum(mul(cast(y, DType::f64), random_tensor({9, 40}, DType::f64, 4))));
    return y;
  };
  const Tensor xd = with_grad(converted(x, DType::f64)),
               gd = with_grad(converted(gain, DType::f64));
  const Tensor bd = with_grad(converted(bias, DType::f64));
  const Tensor expected = run(xd, gd, bd, std::nullopt);
  const Tensor xw = with_grad(x), gw = with_grad(gain), bw = with_grad(bias);
  const Tensor y = run(xw, gw, bw, DType::bf16);
  CHECK(y.dtype() == DType::bf16);
  CHECK(distance(y, expected) < 3e-3);
  CHECK(grad_of(xw).dtype() == DType::f32);
  CHECK(distance(grad_of(xw), grad_of(xd)) < 5e-3);
  CHECK(distance(grad_of(gw), grad_of(gd)) < 5e-3);
  CHECK(distance(grad_of(bw), grad_of(bd)) < 5e-3);
  CHECK_THROWS_AS(
      layer_norm(converted(x, DType::f64), converted(gain, DType::f64), {}, 1e-5, DType::bf16),
      Error);
}

TEST_CASE("head_cross_entropy: narrow operands, fp32 loss and weight gradient") {
  const Tensor x = random_tensor({600, 24}, DType::bf16, 1),
               w = random_tensor({35, 24}, DType::bf16, 2);
  std::vector<std::int32_t> ids(600);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i % 34) - 1;
  const Tensor targets = tensor_of(ids, {600});
  const auto run = [&](const Tensor& xi, const Tensor& wi) {
    Tape tape;
    const Tensor loss = head_cross_entropy(xi, wi, targets, 33);
    tape.backward(loss);
    return loss.item();
  };
  const Tensor xd = with_grad(converted(x, DType::f64)), wd = with_grad(converted(w, DType::f64));
  const Tensor xn = with_grad(x), wn = leaf_with_wide_gradient(w);
  const double expected = run(xd, wd);
  CHECK(run(xn, wn) == Approx(expected).epsilon(1e-6));
  CHECK(distance(grad_of(wn), grad_of(wd)) < 5e-3);
  CHECK(distance(grad_of(xn), grad_of(xd)) < 8e-3);
}
