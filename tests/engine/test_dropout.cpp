// Dropout: rate, exact scale, one mask forward and backward, and masks that do not depend on how a
// batch is cut.
#include <catch2/catch.hpp>

#include "engine/ops/ops.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

TEST_CASE("dropout keeps 1 - p of the elements and scales them exactly") {
  const Tensor ones = empty({400, 250});
  fill(ones, 1);
  for (double p : {0.1, 0.5, 0.75}) {
    const Values y = to_doubles(dropout(ones, p, 42, 0));
    double kept = 0;
    const double factor = static_cast<float>(1 / (1 - p));
    for (double v : y) {
      if (v != 0) CHECK(v == factor);
      kept += v != 0;
    }
    CHECK(std::abs(kept / 1e5 - (1 - p)) < 5 * std::sqrt(p * (1 - p) / 1e5));
  }
}

TEST_CASE("the gradient passes where the value passed, by the same factor") {
  const Tensor x = with_grad(random_tensor({37, 11}, DType::f64, 1));
  Tape tape;
  const Tensor y = dropout(x, 0.3, 7, 123);
  const Values values = to_doubles(y), in = to_doubles(x);
  tape.backward(sum(y));
  const Values g = to_doubles(grad_of(x));
  for (std::size_t i = 0; i < g.size(); ++i) {
    CHECK(g[i] == (values[i] == 0 ? 0 : 1 / 0.7));
    CHECK(values[i] == Approx(in[i] * g[i]).margin(1e-15));
  }
}

TEST_CASE("the mask is a function of key and position, not of the batch split") {
  const Tensor x = random_tensor({6, 5, 7}, DType::f32, 1);
  const Values whole = to_doubles(dropout(x, 0.5, 99, 1000));
  for (std::int64_t rows : {1, 2, 3}) {
    Values pieces;
    for (std::int64_t row = 0; row < 6; row += rows) {
      const Tensor part = dropout(x.sliced(0, row, rows), 0.5, 99, 1000 + row * 35);
      const Values values = to_doubles(part);
      pieces.insert(pieces.end(), values.begin(), values.end());
    }
    CHECK(pieces == whole);
  }
  CHECK(to_doubles(dropout(x, 0.5, 99, 1000)) == whole);
  CHECK(to_doubles(dropout(x, 0.5, 98, 1000)) != whole);
  CHECK(to_doubles(dropout(x, 0.5, 99, 1001)) != whole);
}

TEST_CASE("p = 0 is the identity; other p outside (0, 1) are refused") {
  const Tensor x = random_tensor({3, 4}, DType::f32, 1);
  CHECK(to_doubles(dropout(x, 0, 1, 0)) == to_doubles(x));
  for (double p : {-0.1, 1.0, 1.5, std::nan("")})
    CHECK(contains(error_of([&] { dropout(x, p, 1, 0); }), "dropout: probability"));
}

}  // namespace
}  // namespace skep::testing
