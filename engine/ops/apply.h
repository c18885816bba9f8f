#pragma once
// apply(): how every op runs. Computes forward, and puts the node on the tape when some input
// wants a gradient. It takes the op's table entry, so an op without one does not compile.
#include "engine/autograd/tape.h"
#include "engine/ops/op_table.h"

namespace skep {

namespace detail {

inline void connect(Node& node, Tensor& out) {
  out = with_grad(std::move(out));
  node.outputs.push_back(out.slot());
}
inline void connect(Node& node, std::vector<Tensor>& outs) {
  for (Tensor& out : outs) connect(node, out);
}

}  // namespace detail

/// Op: a Node with `forward(inputs...)` that returns a Tensor or a vector of them.
template <class Op, class... In>
auto apply(const OpEntry& entry, Op op, const In&... in) {
  const bool wanted = (in.wants_grad() || ...) && Tape::current() && !NoGrad::active();
  if (!wanted) return op.forward(in...);
  auto node = std::make_unique<Op>(std::move(op));
  auto out = node->forward(in...);
  node->set_name(entry.name());
  (node->inputs.push_back(in.slot()), ...);
  detail::connect(*node, out);
  Tape::current()->record(std::move(node));
  return out;
}

}  // namespace skep
