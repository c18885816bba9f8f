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

template <class... In>
void check_one_type(const In&... in) {
  const Tensor* first = nullptr;
  for (const Tensor* t : {&in...}) {
    if (!t->defined() || !is_float(t->dtype())) continue;
    if (!first) first = t;
    check(t->dtype() == first->dtype(),
          "operands of shapes {} and {} are {} and {}: they must share one type, cast one",
          first->shape(), t->shape(), name_of(first->dtype()), name_of(t->dtype()));
  }
}

template <class Op, class... In>
auto apply_unnamed(const OpEntry& entry, Op op, const In&... in) {
  if constexpr (Op::mixes_types == Node::MixesTypes::no) check_one_type(in...);
  const bool wanted = (in.wants_grad() || ...) && Tape::current() && !NoGrad::active();
  if (!wanted) return op.forward(in...);
  auto node = std::make_unique<Op>(std::move(op));
  (node->inputs.push_back(in.slot()), ...);
  auto out = node->forward(in...);
  node->set_name(entry.name());
  connect(*node, out);
  Tape::current()->record(std::move(node));
  return out;
}

}  // namespace detail

/// Op: a Node with `forward(inputs...)` that returns a Tensor or a vector of them.
/// Whatever it throws names the op.
template <class Op, class... In>
auto apply(const OpEntry& entry, Op op, const In&... in) {
  try {
    return detail::apply_unnamed(entry, std::move(op), in...);
  } catch (const Error& error) {
    throw at_place(entry.name(), error);
  }
}

}  // namespace skep
