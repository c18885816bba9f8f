#include "engine/backends/cuda/gemm.h"

#include <atomic>

namespace skep::cuda {
namespace {

template <class To, class From>
struct Pack {
  To* to;
  const From* from;
  std::int64_t columns, row_stride, column_stride;
  HD void operator()(std::int64_t i) const {
    const From x = from[i / columns * row_stride + i % columns * column_stride];
    to[i] = static_cast<To>(static_cast<Compute<To>>(x));
  }
};

// The same numbers in a tensor of their own.
Tensor packed(Device device, const Matrix& m, DType dtype) {
  Tensor out = empty({m.rows, m.columns}, dtype, device);
  with_float(dtype, [&](auto to) {
    with_float(m.dtype, [&](auto from) {
      using To = decltype(to);
      using From = decltype(from);
      for_each_index(device, m.rows * m.columns,
                     Pack<To, From>{out.data<To>(), static_cast<const From*>(m.data), m.columns,
                                    m.row_stride, m.column_stride});
    });
  });
  return out;
}

// Puts the finished product (compute type) into c, in c's own type and strides.
template <class To, class From>
struct Unpack {
  To* to;
  const From* from;
  const Compute<To>* bias;
  std::int64_t columns, row_stride, column_stride;
  Write write;
  HD void operator()(std::int64_t i) const {
    const std::int64_t column = i % columns;
    Compute<To> value = from ? static_cast<Compute<To>>(from[i]) : Compute<To>(0);
    if (bias) value += bias[column];
    detail::store(to[i / columns * row_stride + column * column_stride], value, write);
  }
};

void unpack(Device device, const Tensor& product, const Matrix& c, const GemmOptions& options) {
  with_float(c.dtype, [&](auto to) {
    using To = decltype(to);
    using From = Compute<To>;
    for_each_index(device, c.rows * c.columns,
                   Unpack<To, From>{static_cast<To*>(c.data),
                                    product.defined() ? product.data<From>() : nullptr,
                                    static_cast<const From*>(options.bias), c.columns, c.row_stride,
                                    c.column_stride, options.write});
  });
}

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
