// Forward values of the simple ops, by hand, on operands of any stride. Gradients follow from
// test_ops; the values of products, rows and attention from test_gemm, test_parity and their own.
#include <catch2/catch.hpp>

#include "engine/ops/ops.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

// 0 1 2 / 3 4 5, plus `first`.
Tensor matrix(Layout layout, double first = 0) {
  Values values;
  for (int i = 0; i < 6; ++i) values.push_back(first + i);
  return laid_out(tensor_of(values, {2, 3}), layout);
}

TEST_CASE("simple ops give what they say, in every layout") {
  const auto layout =
      GENERATE(Layout::contiguous, Layout::reversed, Layout::sliced, Layout::every_second);
  const Tensor x = matrix(layout), z = matrix(layout, 10);
  const Tensor row = laid_out(tensor_of(Values{1, 10, 100}, {3}), layout);
  const Tensor column = laid_out(tensor_of(Values{2, -1}, {2, 1}), layout);
  CHECK(to_doubles(add(x, z)) == Values{10, 12, 14, 16, 18, 20});
  CHECK(to_doubles(add(x, row)) == Values{1, 11, 102, 4, 14, 105});
  CHECK(to_doubles(mul(x, z)) == Values{0, 11, 24, 39, 56, 75});
  CHECK(to_doubles(mul(row, column)) == Values{2, 20, 200, -1, -10, -100});
  CHECK(to_doubles(scale(x, -0.5)) == Values{0, -0.5, -1, -1.5, -2, -2.5});
  CHECK(to_doubles(cast(x, DType::f16)) == to_doubles(x));
  CHECK(to_doubles(reshape(x, {3, 2})) == to_doubles(x));
  CHECK(to_doubles(transpose(x, 0, 1)) == Values{0, 3, 1, 4, 2, 5});
  CHECK(to_doubles(slice(x, -1, 1, 2)) == Values{1, 2, 4, 5});
  CHECK(to_doubles(split(x, 0, 2)[1]) == Values{3, 4, 5});
  CHECK(to_doubles(split(x, 1, 3)[2]) == Values{2, 5});
  CHECK(sum(x).item() == 15);
  CHECK(to_doubles(sum_dim(x, 0)) == Values{3, 5, 7});
  CHECK(to_doubles(sum_dim(x, -1)) == Values{3, 12});
  CHECK(mean(x).item() == 2.5);
  CHECK(to_doubles(mean_dim(x, 0)) == Values{1.5, 2.5, 3.5});
  CHECK(to_doubles(matmul(x, transpose(z, 0, 1))) == Values{35, 44, 134, 170});
  CHECK(to_doubles(linear(x, z, {})) == Values{35, 44, 134, 170});
  CHECK(to_doubles(exp(x))[2] == std::exp(2.0));
  CHECK(to_doubles(tanh(x))[1] == std::tanh(1.0));
  CHECK(to_doubles(embedding(x, tensor_of(std::vector<std::int32_t>{1, 0, 1}, {3}))) ==
        Values{3, 4, 5, 0, 1, 2, 3, 4, 5});
}

TEST_CASE("AG-STRIDE: a batch of matrices whose batch strides have no order") {
  // (3, 5, 2, 4) seen through every exchange of two dimensions, times a plain (.., 4 or so, 3).
  const Tensor base = random_tensor({3, 5, 2, 4}, DType::f64, 1);
  for (int a = 0; a < 4; ++a)
    for (int b = a + 1; b < 4; ++b) {
      const Tensor view = base.transposed(a, b);
      Tensor plain = empty(view.shape(), view.dtype());
      copy(plain, view);
      const Tensor right = random_tensor({view.size(-1), 3}, DType::f64, 2);
      INFO("dimensions " << a << " and " << b);
      CHECK(relative_error(matmul(view, right), matmul(plain, right)) < 1e-14);
      CHECK(relative_error(matmul(transpose(view, 2, 3), view),
                           matmul(contiguous(transpose(plain, 2, 3)), plain)) < 1e-14);
      CHECK(to_doubles(gelu(view.sliced(1, 1, 1))) == to_doubles(gelu(plain.sliced(1, 1, 1))));
    }
}

TEST_CASE("views of ops share memory; a reshape copies only when it must") {
  const Tensor x = random_tensor({4, 6}, DType::f32, 1);
  CHECK(reshape(x, {2, 12}).storage() == x.storage());
  CHECK(transpose(x, 0, 1).storage() == x.storage());
  CHECK(slice(x, 0, 1, 2).storage() == x.storage());
  CHECK(split(x, 1, 3)[1].storage() == x.storage());
  const Tensor turned = transpose(x, 0, 1);
  CHECK(reshape(turned, {24}).storage() != x.storage());
  CHECK(to_doubles(reshape(turned, {24})) == to_doubles(turned));
}

}  // namespace
}  // namespace skep::testing
