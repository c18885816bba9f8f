#include "engine/backends/cuda/pack.h"

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

}  // namespace

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

}  // namespace skep::cuda
