// Eigen behind the gemm seam: the fallback where oneDNN is not installed, and fp64 everywhere.
#include <Eigen/Core>

#include "engine/backends/cpu/gemm.h"

namespace skep::cpu {
namespace {

template <class T, int Order>
using Map =
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>, 0, Eigen::OuterStride<>>;

// Calls f with an Eigen view whose storage order is the one in which elements are adjacent.
template <class T, class F>
void with_map(const Matrix& m, F f) {
  T* data = static_cast<T*>(m.data);
  if (m.column_stride == 1) {
    f(Map<T, Eigen::RowMajor>(data, m.rows, m.columns, Eigen::OuterStride<>(m.row_stride)));
  } else {
    f(Map<T, Eigen::ColMajor>(data, m.rows, m.columns, Eigen::OuterStride<>(m.column_stride)));
  }
}

template <class T>
void multiply(const Matrix& a, const Matrix& b, const Matrix& c, const GemmOptions& options) {
  Map<T, Eigen::RowMajor> mc(static_cast<T*>(c.data), c.rows, c.columns,
                             Eigen::OuterStride<>(c.row_stride));
  if (options.write == Write::overwrite) mc.setZero();
  with_map<T>(a, [&](auto ma) {
    with_map<T>(b, [&](auto mb) { mc.noalias() += static_cast<T>(options.alpha) * ma * mb; });
  });
  if (options.bias)
    mc.rowwise() += Eigen::Map<const Eigen::Matrix<T, 1, Eigen::Dynamic>>(
        static_cast<const T*>(options.bias), c.columns);
}

}  // namespace

void gemm_eigen(const Matrix& a, const Matrix& b, const Matrix& c, const GemmOptions& options) {
  if (c.dtype == DType::f64) {
    multiply<double>(a, b, c, options);
  } else {
    multiply<float>(a, b, c, options);
  }
}

}  // namespace skep::cpu
