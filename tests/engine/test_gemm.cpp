// Matrix products: Eigen, oneDNN and the dispatcher, each against a plain triple loop in double, in
// every layout, and nothing outside the result may change.
#include <catch2/catch.hpp>
#include <cstring>

#include "engine/backends/cpu/gemm.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

using Gemm = void (*)(const Matrix&, const Matrix&, const Matrix&, const GemmOptions&);

enum class Order { rows, columns, rows_padded, columns_padded, scattered, one_row, one_column };

// A matrix inside a larger block of numbers.
struct Block {
  Tensor memory;
  Matrix matrix;

  Block(std::int64_t rows, std::int64_t columns, DType dtype, Order order, std::uint64_t seed) {
    std::int64_t row_stride = columns, column_stride = 1;
    if (order == Order::columns) row_stride = 1, column_stride = rows;
    if (order == Order::rows_padded) row_stride = columns + 5;
    if (order == Order::columns_padded) row_stride = 1, column_stride = rows + 3;
    if (order == Order::scattered) row_stride = 3 * columns + 1, column_stride = 3;
    if (order == Order::one_row) row_stride = 0;
    if (order == Order::one_column) row_stride = 1, column_stride = 0;
    const std::int64_t guard = 32;
    const std::int64_t span = std::max<std::int64_t>(rows - 1, 0) * row_stride +
                              std::max<std::int64_t>(columns - 1, 0) * column_stride + 1;
    memory = random_tensor({2 * guard + span}, dtype, seed);
    auto* data = static_cast<std::byte*>(memory.raw()) + guard * size_of(dtype);
    matrix = {data, dtype, rows, columns, row_stride, column_stride};
  }
};

double element(const Matrix& m, std::int64_t r, std::int64_t c) {
  return with_float(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    return static_cast<double>(
        static_cast<const T*>(m.data)[r * m.row_stride + c * m.column_stride]);
  });
}

// One product to check: what goes in, and how.
struct Product {
  std::int64_t m, n, k;
  DType in = DType::f32, out = DType::f32;
  Order a = Order::rows, b = Order::rows, c = Order::rows;
  Write write = Write::overwrite;
  double alpha = 1;
  enum class Bias { no, yes } bias = Bias::no;
};

double rounding(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f32:
      return 0x1p-24;
    case DType::f16:
      return 0x1p-11;
    default:
      return 0x1p-8;
  }
}

// Runs the product; the largest error as a multiple of its bound, infinity if memory around c
// changed. The bound: a few roundings of the sum of magnitudes, and one of the stored result.
double excess(Gemm gemm, const Product& p) {
  const Block a(p.m, p.k, p.in, p.a, 1), b(p.k, p.n, p.in, p.b, 2);
  Block c(p.m, p.n, p.out, p.c, 3);
  const Tensor bias = random_tensor({std::max<std::int64_t>(p.n, 1)},
                                    p.out == DType::f64 ? DType::f64 : DType::f32, 4);
  const bool biased = p.bias == Product::Bias::yes;
  const Tensor before = empty_like(c.memory);
  std::memcpy(before.raw(), c.memory.raw(), before.bytes());
  Matrix old = c.matrix;
  old.data = static_cast<std::byte*>(before.raw()) + 32 * size_of(p.out);
  gemm(a.matrix, b.matrix, c.matrix,
       {.write = p.write, .alpha = p.alpha, .bias = biased ? bias.raw() : nullptr});

  const double compute = p.out == DType::f64 ? 0x1p-53 : 0x1p-24;
  const Values bias_values = to_doubles(bias);
  double worst = 0;
  const auto bytes = static_cast<std::int64_t>(size_of(p.out));
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      double want = 0, magnitude = 0;
      for (std::int64_t l = 0; l < p.k; ++l) {
        const double term = p.alpha * element(a.matrix, i, l) * element(b.matrix, l, j);
        want += term;
        magnitude += std::abs(term);
      }
      if (biased) want += bias_values[j], magnitude += std::abs(bias_values[j]);
      if (p.write == Write::accumulate)
        want += element(old, i, j), magnitude += std::abs(element(old, i, j));
      const double got = element(c.matrix, i, j);
      const double smallest = p.out == DType::f16 ? 0x1p-25 : 0;  // half of a subnormal
      const double bound =
          8 * compute * magnitude + 1.01 * rounding(p.out) * std::abs(want) + smallest;
      const double ratio = got == want ? 0 : std::abs(got - want) / bound;
      if (!(ratio <= worst)) worst = std::isnan(ratio) ? INFINITY : ratio;
      // The element itself is accounted for: make it equal, so that the rest can be compared.
      const std::int64_t at = (i * old.row_stride + j * old.column_stride) * bytes;
      std::memcpy(static_cast<std::byte*>(old.data) + at,
                  static_cast<std::byte*>(c.matrix.data) + at, bytes);
    }
  if (std::memcmp(before.raw(), c.memory.raw(), before.bytes()) != 0) return INFINITY;
  return worst;
}

std::string describe(const Product& p) {
  return fmt::format("({}, {}, {}) {} -> {}, orders {} {} {}, write {}, alpha {}, bias {}", p.m,
                     p.n, p.k, name_of(p.in), name_of(p.out), static_cast<int>(p.a),
                     static_cast<int>(p.b), static_cast<int>(p.c), static_cast<int>(p.write),
                     p.alpha, static_cast<int>(p.bias));
}

// The worst of many products: one check for all.
class Worst {
 public:
  void add(Gemm gemm, const Product& p) {
    ++products_;
    const double ratio = excess(gemm, p);
    if (ratio <= ratio_) return;
    ratio_ = ratio;
    where_ = describe(p);
  }
  ~Worst() noexcept(false) {
    INFO("worst of " << products_ << ": " << where_);
    CHECK(ratio_ <= 1);
  }

 private:
  int products_ = 0;
  double ratio_ = 0;
  std::string where_;
};

// Every combination of the layouts, writes, factors and bias, at one size and type.
void check_combinations(Worst& worst, Gemm gemm, Product p, std::vector<Order> in_orders,
                        std::vector<Order> out_orders, std::vector<Product::Bias> biases) {
  for (Order a : in_orders)
    for (Order b : in_orders)
      for (Order c : out_orders)
        for (Write write : {Write::overwrite, Write::accumulate})
          for (double alpha : {1.0, -0.75})
            for (Product::Bias bias : biases) {
              // oneDNN would scale the bias as well: the dispatcher gives these to Eigen.
              if (gemm == cpu::gemm_onednn && alpha != 1 && bias == Product::Bias::yes) continue;
              p.a = a, p.b = b, p.c = c, p.write = write, p.alpha = alpha, p.bias = bias;
              worst.add(gemm, p);
            }
}

const std::vector<Order> dense_orders = {Order::rows, Order::columns, Order::rows_padded,
                                         Order::columns_padded};
const std::vector<Order> all_orders = {Order::rows,           Order::columns,   Order::rows_padded,
                                       Order::columns_padded, Order::scattered, Order::one_row,
                                       Order::one_column};
const std::vector<Product::Bias> both = {Product::Bias::no, Product::Bias::yes};
const std::int64_t sizes[][3] = {{1, 1, 1},     {1, 7, 65},   {7, 1, 65},    {65, 7, 1},
                                 {7, 65, 7},    {65, 100, 7}, {100, 65, 65}, {1, 100, 100},
                                 {100, 1, 257}, {3, 5, 2500}, {3, 2500, 5},  {2, 3, 17000}};

TEST_CASE("Eigen agrees with the plain loop") {
  Worst worst;
  for (DType dtype : {DType::f32, DType::f64})
    for (const auto& s : sizes) {
      Product p{s[0], s[1], s[2]};
      p.in = p.out = dtype;
      // A single row or column has only one meaning of adjacent: the dispatcher normalises those.
      const bool thin = s[0] == 1 || s[1] == 1 || s[2] == 1;
      check_combinations(worst, cpu::gemm_eigen, p, thin ? std::vector{Order::rows} : dense_orders,
                         {Order::rows, Order::rows_padded}, both);
    }
}

TEST_CASE("oneDNN agrees with the plain loop") {
  if (!cpu::has_onednn()) {
    CHECK(contains(error_of([] { excess(cpu::gemm_onednn, {2, 2, 2}); }), "no oneDNN"));
    return;
  }
  Worst worst;
  const std::pair<DType, DType> types[] = {
      {DType::f32, DType::f32}, {DType::bf16, DType::f32}, {DType::bf16, DType::bf16}};
  for (const auto& [in, out] : types)
    for (const auto& s : sizes) {
      if (in == DType::bf16 && !cpu::has_bf16_products()) continue;
      Product p{s[0], s[1], s[2]};
      p.in = in, p.out = out;
      const bool thin = s[0] == 1 || s[1] == 1 || s[2] == 1;
      check_combinations(worst, cpu::gemm_onednn, p, thin ? std::vector{Order::rows} : dense_orders,
                         {Order::rows, Order::rows_padded}, both);
    }
}

TEST_CASE("what oneDNN keeps for a thread is bounded, and products stay right past the bound") {
  if (!cpu::has_onednn()) {
    CHECK(cpu::kept_products() == 0);
    return;
  }
  Worst worst;
  std::size_t most = 0;
  const auto rows = static_cast<std::int64_t>(cpu::most_kept_products) + 50;
  for (std::int64_t m = 1; m <= rows; ++m) {
    worst.add(cpu::gemm, {m, 2, 3});
    most = std::max(most, cpu::kept_products());
  }
  CHECK(most == cpu::most_kept_products);
  CHECK(cpu::kept_products() < most);
  for (std::int64_t m : {1, 7, 1000}) worst.add(cpu::gemm, {m, 2, 3});
}

TEST_CASE("the dispatcher takes any layout and any type") {
  Worst worst;
  for (DType in : float_types)
    for (DType out : {in, in == DType::f64 ? DType::f64 : DType::f32})
      for (const auto& s :
           {std::array<std::int64_t, 3>{7, 9, 5}, {1, 7, 65}, {65, 1, 7}, {5, 3, 1}}) {
        Product p{s[0], s[1], s[2]};
        p.in = in, p.out = out;
        check_combinations(worst, cpu::gemm, p, all_orders,
                           {Order::rows, Order::columns, Order::rows_padded, Order::scattered},
                           both);
      }
}

TEST_CASE("the dispatcher at odd sizes") {
  Worst worst;
  for (DType dtype : float_types)
    for (std::int64_t m : {1, 7, 65, 257})
      for (std::int64_t n : {1, 100, 257})
        for (std::int64_t k : {1, 65, 100}) {
          Product p{m, n, k};
          p.in = p.out = dtype;
          p.a = Order::columns;
          worst.add(cpu::gemm, p);
          p.write = Write::accumulate;
          p.b = Order::columns_padded, p.c = Order::rows_padded;
          worst.add(cpu::gemm, p);
        }
}

TEST_CASE("a product over no elements is zero, plus bias and what was there") {
  Worst worst;
  for (DType dtype : float_types)
    for (Order c : {Order::rows, Order::columns, Order::scattered})
      for (Write write : {Write::overwrite, Write::accumulate})
        for (Product::Bias bias : both) {
          Product p{5, 7, 0};
          p.in = p.out = dtype;
          p.c = c, p.write = write, p.bias = bias;
          worst.add(cpu::gemm, p);
        }
}

TEST_CASE("an empty result is left alone") {
  Worst worst;
  worst.add(cpu::gemm, {0, 7, 5});
  worst.add(cpu::gemm, {7, 0, 5});
}

TEST_CASE("overwrite does not read what was there") {
  for (DType dtype : float_types)
    for (std::int64_t k : {0, 3, 65}) {
      const Block a(4, k, dtype, Order::rows, 1), b(k, 6, dtype, Order::rows, 2);
      const Tensor c = empty({4, 6}, dtype);
      fill(c, NAN);
      cpu::gemm(a.matrix, b.matrix, as_matrix(c), {});
      for (double x : to_doubles(c)) CHECK(std::isfinite(x));
    }
}

TEST_CASE("sizes that do not fit are named") {
  const Block a(2, 3, DType::f32, Order::rows, 1), b(4, 5, DType::f32, Order::rows, 2);
  const Tensor c = empty({2, 5});
  const std::string message = error_of([&] { cpu::gemm(a.matrix, b.matrix, as_matrix(c), {}); });
  CHECK(contains(message, "(2, 3) times (4, 5)"));
}

}  // namespace
}  // namespace skep::testing
