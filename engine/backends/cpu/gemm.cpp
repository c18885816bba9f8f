#include "engine/backends/cpu/gemm.h"

#include <atomic>

#include "engine/kernels/copy.h"

namespace skep::cpu {
namespace {

// Dense numbers of a matrix in another type: `memory` keeps what `matrix` looks at.
struct Packed {
  Tensor memory;
  Matrix matrix;
};

template <class To, class From>
void convert_rows(To* to, const Matrix& m) {
  const From* from = static_cast<const From*>(m.data);
  for (std::int64_t r = 0; r < m.rows; ++r, to += m.columns, from += m.row_stride) {
    const auto one = [](const From& x) { return static_cast<To>(static_cast<Compute<To>>(x)); };
    if (m.column_stride == 1) {
      for (std::int64_t c = 0; c < m.columns; ++c) to[c] = one(from[c]);
    } else {
      for (std::int64_t c = 0; c < m.columns; ++c) to[c] = one(from[c * m.column_stride]);
    }
  }
}

// In the order in which the elements lie, as far as they do.
Packed packed(const Matrix& m, DType dtype) {
  if (m.row_stride == 1 && m.column_stride != 1) {
    const Packed p = packed(m.transposed(), dtype);
    return {p.memory, p.matrix.transposed()};
  }
  const Tensor memory = empty({m.rows, m.columns}, dtype);
  with_float(dtype, [&](auto to) {
    with_float(m.dtype, [&](auto from) {
      using To = decltype(to);
      convert_rows<To, decltype(from)>(memory.data<To>(), m);
    });
  });
  return {memory, as_matrix(memory)};
}

// Adds the finished product (compute type) into c, or replaces c by it, in c's own type and
// strides.
void unpack(const Tensor& product, const Matrix& c, Write write) {
  with_float(product.dtype(), [&](auto from) {
    with_float(c.dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      const From* source = product.data<From>();
      To* target = static_cast<To*>(c.data);
      for (std::int64_t i = 0; i < c.rows; ++i)
        for (std::int64_t j = 0; j < c.columns; ++j)
          detail::store(target[i * c.row_stride + j * c.column_stride],
                        static_cast<Compute<To>>(source[i * c.columns + j]), write);
    });
  });
}

bool native(DType t) { return t == DType::f32 || t == DType::f64; }

void multiply(const Matrix& a, const Matrix& b, const Matrix& c, const GemmOptions& options);

// Types and strides that no library takes directly: pack to the compute type, multiply, unpack.
void gemm_through_copies(const Matrix& a, const Matrix& b, const Matrix& c,
                         const GemmOptions& options) {
  const DType compute = compute_type(c.dtype);
  const Packed wide_a = packed(a, compute), wide_b = packed(b, compute);
  if (c.dtype == compute && c.column_stride == 1 && is_dense(c) && a.columns > 0)
    return multiply(normalised(wide_a.matrix), normalised(wide_b.matrix), c, options);
  const Tensor product = empty({c.rows, c.columns}, compute);
  GemmOptions plain = options;
  plain.write = Write::overwrite;
  if (a.columns > 0) {
    multiply(normalised(wide_a.matrix), normalised(wide_b.matrix), normalised(as_matrix(product)),
             plain);
  } else {
    gemm_eigen(wide_a.matrix, wide_b.matrix, as_matrix(product), plain);
  }
  unpack(product, c, options.write);
}

// The library that takes these types and strides; without one, copies that some library takes.
void multiply(const Matrix& a, const Matrix& b, const Matrix& c, const GemmOptions& options) {
  const bool strides_fit = is_dense(a) && is_dense(b) && c.column_stride == 1;
  const bool one_type = a.dtype == b.dtype;
  const bool bf16_product = one_type && a.dtype == DType::bf16 &&
                            (c.dtype == DType::bf16 || c.dtype == DType::f32) &&
                            has_bf16_products();
  const bool fp32_product = one_type && a.dtype == DType::f32 && c.dtype == DType::f32;
  // oneDNN would scale the bias together with the product.
  const bool bias_fits = !options.bias || options.alpha == 1;
  if (strides_fit && has_onednn() && (fp32_product || bf16_product) && bias_fits)
    return gemm_onednn(a, b, c, options);
  if (strides_fit && one_type && native(a.dtype) && c.dtype == a.dtype)
    return gemm_eigen(a, b, c, options);
  gemm_through_copies(a, b, c, options);
}

std::atomic<std::uint64_t> multiply_adds = 0;

}  // namespace

double product_flops() { return 2.0 * static_cast<double>(multiply_adds.load()); }

void gemm(const Matrix& a_given, const Matrix& b_given, const Matrix& c_given,
          const GemmOptions& options) {
  const Matrix a = normalised(a_given), b = normalised(b_given), c = normalised(c_given);
  check(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns,
        "gemm: ({}, {}) times ({}, {}) does not give ({}, {})", a.rows, a.columns, b.rows,
        b.columns, c.rows, c.columns);
  if (c.rows == 0 || c.columns == 0) return;
  multiply_adds.fetch_add(static_cast<std::uint64_t>(c.rows * c.columns * a.columns),
                          std::memory_order_relaxed);
  if (a.columns == 0) return gemm_through_copies(a, b, c, options);
  if (c.column_stride != 1 && c.row_stride == 1 && !options.bias)
    return multiply(normalised(b.transposed()), normalised(a.transposed()),
                    normalised(c.transposed()), options);
  multiply(a, b, c, options);
}

}  // namespace skep::cpu

#ifndef SKEP_HAS_ONEDNN
namespace skep::cpu {
bool has_onednn() { return false; }
bool has_bf16_products() { return false; }
void gemm_onednn(const Matrix&, const Matrix&, const Matrix&, const GemmOptions&) {
  fail(ErrorKind::bug, "this build has no oneDNN");
}
std::size_t kept_products() { return 0; }
}  // namespace skep::cpu
#endif
