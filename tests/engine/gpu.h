#pragma once
// What the tests of the GPU backend share. They run where a GPU is simulated.
#include "tests/engine/helpers.h"

namespace skep::testing {

inline constexpr Device gpu{Device::Kind::cuda, 0};

/// A leaf on the GPU with the same numbers.
inline Tensor on_gpu(const Tensor& t, Layout layout = Layout::contiguous) {
  if (!t.defined()) return {};
  const Tensor moved = laid_out(to_device(t, gpu), layout);
  return t.wants_grad() ? with_grad(moved) : moved;
}
inline std::vector<Tensor> on_gpu(const std::vector<Tensor>& tensors,
                                  Layout layout = Layout::contiguous) {
  std::vector<Tensor> moved;
  for (const Tensor& t : tensors) moved.push_back(on_gpu(t, layout));
  return moved;
}

}  // namespace skep::testing
