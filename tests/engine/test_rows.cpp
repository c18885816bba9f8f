// Row ops (layer norm, softmax) and reductions where rounding and infinities bite.
#include <catch2/catch.hpp>

#include "engine/kernels/reduce.h"
#include "engine/ops/ops.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

TEST_CASE("LN-CANCEL: a large mean does not swallow the variance") {
  const Tensor x = tensor_of(std::vector<float>{40000, 40001, 40002, 40003}, {1, 4});
  const Tensor one = tensor_of(std::vector<float>(4, 1.0f), {4});
  const Values y = to_doubles(layer_norm(x, one, {}, 1e-5));
  CHECK(largest_error(y, {-1.3416, -0.4472, 0.4472, 1.3416}) < 2e-3);
}

TEST_CASE("LN-CANCEL: a constant row is zero, and its gradient finite") {
  const Tensor x = with_grad(tensor_of(std::vector<float>(256, 1234.0f), {1, 256}));
  const Tensor one = tensor_of(std::vector<float>(256, 1.0f), {256});
  Tape tape;
  const Tensor y = layer_norm(x, one, {}, 1e-5);
  CHECK(to_doubles(y) == Values(256, 0.0));
  backward_from(tape, {y}, {random_tensor({1, 256}, DType::f32, 1)});
  for (double g : to_doubles(grad_of(x))) CHECK(std::isfinite(g));
}

TEST_CASE("softmax: rows sum to one, ties are equal, infinities are exact") {
  const Tensor x = tensor_of(
      std::vector<float>{1e30f, 1e30f, -1e30f, -INFINITY, 3, 3, -INFINITY, -INFINITY, -INFINITY},
      {3, 3});
  CHECK(to_doubles(softmax(x)) == Values{0.5, 0.5, 0, 0, 0.5, 0.5, 0, 0, 0});
  const Tensor wide = random_tensor({3, 1000}, DType::f32, 1);
  const Tensor totals = sum_dim(softmax(wide), 1);
  CHECK(largest_error(to_doubles(totals), Values(3, 1.0)) < 1e-6);
  CHECK(to_doubles(softmax(random_tensor({4, 1}, DType::f32, 1))) == Values(4, 1.0));
}

TEST_CASE("softmax hides no NaN, even where a row holds nothing else") {
  const Tensor x = tensor_of(std::vector<float>{NAN, NAN, -INFINITY, NAN}, {2, 2});
  for (double y : to_doubles(softmax(x))) CHECK(std::isnan(y));
}

TEST_CASE("softmax shows a NaN, wherever it stands in the row") {
  for (std::int64_t at : {0, 5, 31, 32, 40, 66}) {
    const Tensor x = random_tensor({67}, DType::f32, 1);
    x.data<float>()[at] = NAN;
    INFO("position " << at);
    for (double y : to_doubles(softmax(x))) CHECK(std::isnan(y));
  }
}

// Sums of `from` over the dimensions that `target` lacks, one element at a time.
Values plain_sum_to(const Tensor& from, const Shape& target) {
  Values out(target.numel(), 0.0);
  const Values values = to_doubles(from);
  const Strides from_step = contiguous_strides(from.shape()), step = contiguous_strides(target);
  for (std::int64_t i = 0; i < from.numel(); ++i) {
    std::int64_t at = 0;
    for (int d = 0; d < target.rank(); ++d) {
      const int mine = d + from.rank() - target.rank();
      if (target[d] != 1) at += i / from_step[mine] % from.size(mine) * step[d];
    }
    out[at] += values[i];
  }
  return out;
}

TEST_CASE("sum_to reverses every broadcast") {
  const std::pair<Shape, Shape> cases[] = {{{}, {3, 4}},
                                           {{1}, {3, 4}},
                                           {{4}, {3, 4}},
                                           {{1, 4}, {3, 4}},
                                           {{3, 1}, {3, 4}},
                                           {{1, 1}, {3, 4}},
                                           {{2, 1, 4}, {2, 3, 4}},
                                           {{1, 3, 1}, {2, 3, 4}},
                                           {{3, 1}, {5, 2, 3, 4}},
                                           {{1, 1, 3, 1}, {5, 2, 3, 4}},
                                           {{5, 1, 1, 4}, {5, 2, 3, 4}},
                                           {{300}, {9, 300}},
                                           {{1, 300}, {2, 7, 300}},
                                           {{4}, {0, 4}},
                                           {{3, 1}, {3, 0}},
                                           {{}, {}},
                                           {{2, 0}, {5, 2, 0}},
                                           {{1, 1}, {1, 1}},
                                           {{1}, {1, 1, 1}}};
  for (const auto& [target, shape] : cases)
    for (Layout layout : {Layout::contiguous, Layout::reversed, Layout::sliced})
      for (Write write : {Write::overwrite, Write::accumulate}) {
        const Tensor from = laid_out(random_tensor(shape, DType::f64, 1), layout);
        const Tensor out = random_tensor(target, DType::f64, 2);
        Values want = plain_sum_to(from, target);
        const Values old = to_doubles(out);
        if (write == Write::accumulate)
          for (std::size_t i = 0; i < want.size(); ++i) want[i] += old[i];
        sum_to({out, write}, from);
        INFO(to_string(shape) << " to " << to_string(target));
        CHECK(largest_error(to_doubles(out), want) < 1e-12);
      }
}

TEST_CASE("sums over nothing are zero") {
  CHECK(sum(empty({0})).item() == 0);
  CHECK(sum(empty({3, 0, 2})).item() == 0);
  CHECK(to_doubles(sum_dim(empty({0, 3}), 0)) == Values(3, 0));
  CHECK(sum_dim(empty({0, 3}), 1).shape() == Shape{0});
}

TEST_CASE("long sums in narrow types do not stall") {
  // 30,000 ones: a bf16 accumulator stops at 256, an fp16 one at 2,048.
  const Tensor ones = empty({30000}, DType::bf16);
  fill(ones, 1);
  CHECK(sum(ones).item() == Approx(30000).epsilon(0.004));
  CHECK(sum(converted(ones, DType::f16)).item() == Approx(30000).epsilon(0.0005));
  CHECK(mean(converted(ones, DType::f16)).item() == Approx(1).epsilon(0.001));
}

}  // namespace
}  // namespace skep::testing
