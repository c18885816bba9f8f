#pragma once
// Sums down the rows of a matrix: what a bias, a gain or a broadcast operand receives in backward.
// The order of additions depends on the sizes alone, so results repeat bit for bit.
#include "engine/kernels/launch.h"

namespace skep {

namespace detail {

template <class T, class F>
struct ColumnSum {
  T* out;
  F f;
  std::int64_t rows;
  Write write;
  HD void operator()(std::int64_t column) const {
    Compute<T> total = 0;
    for (std::int64_t r = 0; r < rows; ++r) total += f(r, column);
    store(out[column], total, write);
  }
};

#ifdef SKEP_GPU
template <class F>
__global__ void column_kernel(std::int64_t columns, F f) {
  const std::int64_t column = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (column < columns) f(column);
}
#endif

// A strip of columns stays in registers or the nearest cache while all rows stream past.
template <class T, class F>
void sum_strip(T* out, std::int64_t begin, std::int64_t width, std::int64_t rows, Write write,
               const F& f) {
  Compute<T> total[256];
  for (std::int64_t j = 0; j < width; ++j) total[j] = 0;
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4)
    for (std::int64_t j = 0; j < width; ++j)
      total[j] +=
          (f(r, begin + j) + f(r + 1, begin + j)) + (f(r + 2, begin + j) + f(r + 3, begin + j));
  for (; r < rows; ++r)
    for (std::int64_t j = 0; j < width; ++j) total[j] += f(r, begin + j);
  for (std::int64_t j = 0; j < width; ++j) store(out[begin + j], total[j], write);
}

}  // namespace detail

/// out[c] (=, +=) sum over r of f(r, c), for `columns` contiguous outputs of type T.
template <class T, class F>
void sum_rows(Device device, T* out, std::int64_t rows, std::int64_t columns, Write write,
              const F& f) {
  if (device.kind == Device::Kind::cpu) {
    for (std::int64_t begin = 0; begin < columns; begin += 256)
      detail::sum_strip(out, begin, columns - begin < 256 ? columns - begin : 256, rows, write, f);
    return;
  }
#ifdef SKEP_GPU
  launch(detail::column_kernel<detail::ColumnSum<T, F>>, (columns + 255) / 256, 256, columns,
         detail::ColumnSum<T, F>{out, f, rows, write});
#else
  fail(ErrorKind::bug, "sum_rows: tensor on a GPU, but this binary was built without CUDA");
#endif
}

/// Adds up the dimensions of `from` along which `out.tensor` was broadcast: the reverse of
/// expanding.
void sum_to(const Destination& out, const Tensor& from);

}  // namespace skep
