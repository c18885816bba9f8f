#include "engine/backends/column_major.h"

namespace skep {
namespace {

// The transpose of m.
ColumnMajor transpose_of(const Matrix& m) {
  if (m.column_stride == 1 && m.row_stride >= m.columns)
    return {m.data, m.dtype, m.columns, m.rows, m.row_stride, ColumnMajor::Use::as_is};
  check(is_dense(m), "product: a matrix with strides {} and {} is not dense", m.row_stride,
        m.column_stride);
  return {m.data, m.dtype, m.rows, m.columns, m.column_stride, ColumnMajor::Use::transposed};
}

}  // namespace

ColumnMajorProduct column_major(const Matrix& a, const Matrix& b, const Matrix& c) {
  const ColumnMajorProduct product{c.columns,       c.rows,          a.columns,
                                   transpose_of(b), transpose_of(a), transpose_of(c)};
  check(product.result.use == ColumnMajor::Use::as_is, "product: the result's columns are apart");
  return product;
}

}  // namespace skep
