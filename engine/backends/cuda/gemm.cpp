#include "engine/backends/cuda/gemm.h"

#include <atomic>

#include "engine/backends/cuda/pack.h"

namespace skep::cuda {
namespace {

// The runtime takes one type for a and b, and c in it or in fp32.
bool types_fit(DType a, DType b, DType c) {
  if (a != b) return false;
  return c == a || (c == DType::f32 && a != DType::f64);
}

void product(Runtime& gpu, Device device, const Matrix& a, const Matrix& b, const Matrix& c,
             const GemmOptions& options) {
  const bool fit = types_fit(a.dtype, b.dtype, c.dtype);
  if (fit && is_dense(a) && is_dense(b) && is_dense(c) && c.column_stride == 1)
    return gpu.gemm(a, b, c, options);
  const DType dtype = fit ? a.dtype : compute_type(c.dtype);
  const Tensor a_copy = fit && is_dense(a) ? Tensor{} : packed(device, a, dtype);
  const Tensor b_copy = fit && is_dense(b) ? Tensor{} : packed(device, b, dtype);
  const Tensor sum = empty({c.rows, c.columns}, compute_type(c.dtype), device);
  gpu.gemm(a_copy.defined() ? as_matrix(a_copy) : a, b_copy.defined() ? as_matrix(b_copy) : b,
           as_matrix(sum), {.alpha = options.alpha});
  unpack(device, sum, c, options);
}

std::atomic<std::uint64_t> multiply_adds = 0;

}  // namespace

double product_flops() { return 2.0 * static_cast<double>(multiply_adds.load()); }

void gemm(Runtime& gpu, Device device, const Matrix& a_given, const Matrix& b_given,
          const Matrix& c_given, const GemmOptions& options) {
  const Matrix a = normalised(a_given), b = normalised(b_given), c = normalised(c_given);
  check(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns,
        "gemm: ({}, {}) times ({}, {}) does not give ({}, {})", a.rows, a.columns, b.rows,
        b.columns, c.rows, c.columns);
  if (c.rows == 0 || c.columns == 0) return;
  multiply_adds.fetch_add(static_cast<std::uint64_t>(c.rows * c.columns * a.columns),
                          std::memory_order_relaxed);
  if (a.columns == 0) return unpack(device, {}, c, options);
  if (c.column_stride != 1 && c.row_stride == 1 && !options.bias)
    return product(gpu, device, b.transposed(), a.transposed(), c.transposed(), options);
  product(gpu, device, a, b, c, options);
}

}  // namespace skep::cuda
