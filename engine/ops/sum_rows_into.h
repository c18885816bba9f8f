#pragma once
// Column sums as the gradient of a bias or gain: computed in the compute type, rounded once to the
// type the gradient is kept in.
#include "engine/autograd/node.h"
#include "engine/kernels/copy.h"
#include "engine/kernels/reduce.h"

namespace skep {

/// Input `input` of the node receives sum over r of f(r, c). C: compute type of f.
template <class C, class F>
void sum_rows_into(GradSink& sink, int input, std::int64_t rows, std::int64_t columns, const F& f) {
  const Destination out = sink.slot(input);
  const Device device = out.tensor.device();
  if (out.tensor.dtype() == DTypeOf<C>::value)
    return sum_rows(device, out.tensor.data<C>(), rows, columns, out.write, f);
  const Tensor sums = empty({columns}, DTypeOf<C>::value, device);
  sum_rows(device, sums.data<C>(), rows, columns, Write::overwrite, f);
  add_into(out, converted(sums, out.tensor.dtype()).reshaped(out.tensor.shape()));
}

}  // namespace skep
