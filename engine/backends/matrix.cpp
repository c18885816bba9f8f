#include "engine/backends/matrix.h"

namespace skep {

Matrix as_matrix(const Tensor& t) {
  check(t.rank() >= 2, "a matrix needs two dimensions, shape is {}", t.shape());
  return {t.raw(), t.dtype(), t.size(-2), t.size(-1), t.strides()[-2], t.strides()[-1]};
}

Matrix normalised(Matrix m) {
  if (m.columns == 1) m.column_stride = 1;
  if (m.rows == 1) m.row_stride = m.column_stride == 1 ? m.columns : 1;
  return m;
}

bool is_dense(const Matrix& m) {
  return (m.column_stride == 1 && m.row_stride >= m.columns) ||
         (m.row_stride == 1 && m.column_stride >= m.rows);
}

}  // namespace skep
