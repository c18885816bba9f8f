// Products told to a BLAS: its rules of reading memory, in plain loops, give what ours give.
#include <catch2/catch.hpp>

#include "engine/backends/column_major.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

enum class Order { rows, columns };

// Whole numbers in a larger block, `padding` elements between rows or columns.
struct Block {
  std::vector<double> memory;
  Matrix matrix;

  Block(std::int64_t rows, std::int64_t columns, Order order, std::int64_t padding, int first) {
    matrix = {nullptr, DType::f64, rows, columns, columns + padding, 1};
    if (order == Order::columns) {
      matrix.row_stride = 1;
      matrix.column_stride = rows + padding;
    }
    memory.resize(static_cast<std::size_t>((rows + padding) * (columns + padding)));
    for (std::size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<double>((first + 7 * static_cast<int>(i)) % 13 - 6);
    matrix.data = memory.data();
  }
  double& at(std::int64_t r, std::int64_t c) {
    return memory[static_cast<std::size_t>(r * matrix.row_stride + c * matrix.column_stride)];
  }
};

// Element (i, j) of op(A), as BLAS defines it; it must be one that was declared.
double& operand(const ColumnMajor& m, std::int64_t i, std::int64_t j) {
  if (m.use == ColumnMajor::Use::transposed) std::swap(i, j);
  REQUIRE((i < m.rows && j < m.columns && m.leading >= m.rows));
  return static_cast<double*>(m.data)[i + j * m.leading];
}

void blas(const ColumnMajorProduct& p) {
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < p.k; ++l) sum += operand(p.left, i, l) * operand(p.right, l, j);
      operand(p.result, i, j) = sum;
    }
}

void check_product(std::int64_t m, std::int64_t n, std::int64_t k, Order order_a, Order order_b,
                   std::int64_t padding) {
  Block a(m, k, order_a, padding, 1), b(k, n, order_b, padding, 2);
  Block c(m, n, Order::rows, padding, 3), want = c;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      want.at(i, j) = 0;
      for (std::int64_t l = 0; l < k; ++l) want.at(i, j) += a.at(i, l) * b.at(l, j);
    }
  blas(column_major(normalised(a.matrix), normalised(b.matrix), normalised(c.matrix)));
  CHECK(c.memory == want.memory);
}

TEST_CASE("column major: every order and shape of the operands gives the row-major product") {
  for (const std::int64_t m : {1, 2, 5})
    for (const std::int64_t n : {1, 3, 4})
      for (const std::int64_t k : {1, 2, 7})
        for (const Order a : {Order::rows, Order::columns})
          for (const Order b : {Order::rows, Order::columns})
            for (const std::int64_t padding : {0, 3}) {
              INFO(m << " x " << k << " x " << n << ", padding " << padding);
              check_product(m, n, k, a, b, padding);
            }
}

TEST_CASE("column major: a bias has a value for each row of the result") {
  Block a(5, 7, Order::rows, 0, 1), b(7, 3, Order::rows, 0, 2), c(5, 3, Order::rows, 0, 3);
  const ColumnMajorProduct p = column_major(a.matrix, b.matrix, c.matrix);
  CHECK(p.m == 3);
  CHECK(p.result.rows == 3);
}

TEST_CASE("column major: what BLAS cannot read is refused") {
  Block a(4, 4, Order::rows, 0, 1);
  Matrix scattered = a.matrix, by_columns = a.matrix.transposed();
  scattered.column_stride = 2;
  CHECK(contains(error_of([&] { column_major(scattered, a.matrix, a.matrix); }), "not dense"));
  CHECK(contains(error_of([&] { column_major(a.matrix, a.matrix, by_columns); }), "apart"));
}

}  // namespace
}  // namespace skep::testing
