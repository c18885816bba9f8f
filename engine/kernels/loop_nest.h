#pragma once
// How to walk several tensors of one (broadcast) shape together: sizes, and strides per operand,
// with neighbouring dimensions merged wherever every operand allows it. Most walks become one loop.
#include <array>

#include "engine/core/tensor.h"

namespace skep {

template <std::size_t N>
struct LoopNest {
  int rank = 0;  // at least 1; the innermost is the last
  std::int64_t size[Shape::max_rank] = {};
  std::int64_t stride[N][Shape::max_rank] = {};

  HD std::int64_t numel() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= size[i];
    return n;
  }
  /// True when the innermost dimension is adjacent in memory for every operand.
  bool inner_is_dense() const {
    for (std::size_t k = 0; k < N; ++k)
      if (stride[k][rank - 1] != 1) return false;
    return true;
  }
};

/// The walk over `shape`, to which every operand is broadcast.
template <std::size_t N>
LoopNest<N> loop_nest(const Shape& shape, const std::array<const Tensor*, N>& operands) {
  LoopNest<N> nest;
  std::array<Tensor, N> view;
  for (std::size_t k = 0; k < N; ++k) view[k] = operands[k]->expanded(shape);
  auto merges = [&](int d) {  // may dimension d join the last one of the nest?
    for (std::size_t k = 0; k < N; ++k)
      if (nest.stride[k][nest.rank - 1] != view[k].strides()[d] * shape[d]) return false;
    return true;
  };
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    const bool joins = nest.rank > 0 && merges(d);
    if (!joins) ++nest.rank;
    const int at = nest.rank - 1;
    nest.size[at] = joins ? nest.size[at] * shape[d] : shape[d];
    for (std::size_t k = 0; k < N; ++k) nest.stride[k][at] = view[k].strides()[d];
  }
  if (nest.rank == 0) {  // a scalar is a loop of one
    nest.rank = 1;
    nest.size[0] = 1;
    for (std::size_t k = 0; k < N; ++k) nest.stride[k][0] = 1;
  }
  return nest;
}

/// Calls body(offsets) for each position of all but the innermost dimension.
template <std::size_t N, class Body>
void for_each_inner_loop(const LoopNest<N>& nest, Body body) {
  if (nest.numel() == 0) return;
  std::array<std::int64_t, N> offset{};
  std::array<std::int64_t, Shape::max_rank> at{};
  while (true) {
    body(offset);
    int d = nest.rank - 2;
    for (; d >= 0; --d) {
      for (std::size_t k = 0; k < N; ++k) offset[k] += nest.stride[k][d];
      if (++at[d] < nest.size[d]) break;
      for (std::size_t k = 0; k < N; ++k) offset[k] -= nest.stride[k][d] * nest.size[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace skep
