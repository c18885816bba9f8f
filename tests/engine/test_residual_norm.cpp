// residual_norm is add and layer_norm in one pass: the same bits, whichever of its results are
// used.
#include <catch2/catch.hpp>

#include "engine/autograd/tape.h"
#include "engine/ops/ops.h"
#include "helpers.h"

using namespace skep;
using namespace skep::testing;

namespace {

enum class Used { both, sum_only, norm_only };

struct Outcome {
  Values sum, normed, x, branch, gain, bias;
  bool operator==(const Outcome&) const = default;
};

using Pair = std::vector<Tensor> (*)(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                     std::optional<DType>);

std::vector<Tensor> fused(const Tensor& x, const Tensor& branch, const Tensor& gain,
                          const Tensor& bias, std::optional<DType> result) {
  return residual_norm(x, branch, gain, bias, 1e-5, result);
}
std::vector<Tensor> separate(const Tensor& x, const Tensor& branch, const Tensor& gain,
                             const Tensor& bias, std::optional<DType> result) {
  const Tensor s = add(x, branch);
  return {s, layer_norm(s, gain, bias, 1e-5, result)};
}

Values gradient(const Tensor& t) {
  const Tensor g = grad_of(t);
  return g.defined() ? to_doubles(g) : Values{};
}

Outcome outcome(Pair op, Used used, const Shape& shape, std::optional<DType> result) {
  const Shape width{shape[-1]};
  const Tensor x = with_grad(random_tensor(shape, DType::f32, 1));
  const Tensor branch = with_grad(random_tensor(shape, DType::f32, 2));
  const Tensor gain = with_grad(random_tensor(width, DType::f32, 3));
  const Tensor bias = with_grad(random_tensor(width, DType::f32, 4));
  Tape tape;
  const auto out = op(x, branch, gain, bias, result);
  const auto weighed = [&](const Tensor& t, std::uint64_t seed) {
    return sum(mul(cast(t, DType::f32), random_tensor(shape, DType::f32, seed)));
  };
  if (used == Used::both) tape.backward(add(weighed(out[0], 5), weighed(out[1], 6)));
  if (used == Used::sum_only) tape.backward(weighed(out[0], 5));
  if (used == Used::norm_only) tape.backward(weighed(out[1], 6));
  return {to_doubles(out[0]), to_doubles(out[1]), gradient(x),
          gradient(branch),   gradient(gain),     gradient(bias)};
}

}  // namespace

TEST_CASE("residual_norm gives the bits of add and layer_norm") {
  for (const Used used : {Used::both, Used::sum_only, Used::norm_only})
    for (const Shape& shape : {Shape{3, 40}, Shape{2, 5, 7}, Shape{1, 1}})
      for (const std::optional<DType> result : {std::optional<DType>{}, {DType::bf16}}) {
        INFO("used " << static_cast<int>(used) << ", shape " << to_string(shape));
        CHECK(outcome(fused, used, shape, result) == outcome(separate, used, shape, result));
      }
}

TEST_CASE("residual_norm names what does not fit") {
  const Tensor x = random_tensor({2, 3}, DType::f32, 1), gain = random_tensor({3}, DType::f32, 2);
  CHECK_THROWS_WITH(residual_norm(x, random_tensor({3}, DType::f32, 3), gain, {}, 1e-5),
                    Catch::Contains("residual_norm") && Catch::Contains("(3)"));
  CHECK_THROWS_WITH(residual_norm(x, converted(x, DType::bf16), gain, {}, 1e-5),
                    Catch::Contains("fp32") && Catch::Contains("bf16"));
}
