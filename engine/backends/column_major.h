#pragma once
// A product of our row-major matrices in the terms of BLAS, whose matrices have adjacent columns:
// read that way, memory holds the transposes, and cᵀ = bᵀ aᵀ.
#include "engine/backends/matrix.h"

namespace skep {

/// As BLAS reads memory: `columns` columns of `rows` adjacent elements, `leading` elements from one
/// to the next.
struct ColumnMajor {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0, leading = 0;
  enum class Use { as_is, transposed } use = Use::as_is;
};

/// result (m, n) = use(left) (m, k) use(right) (k, n); the result as it is.
struct ColumnMajorProduct {
  std::int64_t m = 0, n = 0, k = 0;
  ColumnMajor left, right, result;
};

/// c = a b; all dense, c with adjacent columns. The result's rows are c's columns: a bias with a
/// value for each column of c has one for each row of the result.
ColumnMajorProduct column_major(const Matrix& a, const Matrix& b, const Matrix& c);

}  // namespace skep
