#pragma once
// A matrix in memory with any strides, as the products of every backend take it.
#include <cstdint>

#include "engine/core/tensor.h"

namespace skep {

/// Strides are in elements: transposes and slices are strides.
struct Matrix {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 1;

  Matrix transposed() const { return {data, dtype, columns, rows, column_stride, row_stride}; }
};

/// The last two dimensions of a tensor as a matrix (its first one when there are more).
Matrix as_matrix(const Tensor& t);

/// A single row or column leaves one stride without meaning: it gets the one libraries expect.
Matrix normalised(Matrix m);

/// Adjacent rows or columns that do not overlap (a broadcast matrix has stride 0).
bool is_dense(const Matrix& m);

}  // namespace skep
