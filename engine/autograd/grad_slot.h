#pragma once
// Where the gradient of one tensor gathers during backward. A slot knows whether anything has been
// written to it: the first contribution overwrites, later ones accumulate, nobody clears first.
#include <functional>

#include "engine/core/tensor.h"

namespace skep {

struct GradSlot {
  Shape shape;
  DType dtype = DType::f32;  ///< of the gradient
  Device device;
  Tensor value;          ///< undefined until written, unless bound
  bool written = false;  ///< does `value` hold a gradient?
  bool bound = false;    ///< `value` is memory somebody else owns (the parameter store)
  bool is_leaf = true;   ///< no node on the tape produced this tensor
  int pending_uses = 0;  ///< nodes on the tape that may still contribute
  /// Leaf: called once per backward, after the last node that used it. Otherwise: called with the
  /// finished gradient before the node that produced the tensor runs backward.
  std::function<void(const GradSlot&)> on_ready;
};

/// Marks `t` as a leaf whose gradient is wanted and returns it.
Tensor with_grad(Tensor t);

/// The gradient gathered so far; undefined when nothing was written.
Tensor grad_of(const Tensor& t);

}  // namespace skep
