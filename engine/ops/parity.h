#pragma once
// Whether a function gives the same in two places, types or layouts: what it gave, forward and
// backward, as numbers, and how far two such results are apart.
#include <functional>
#include <vector>

#include "engine/autograd/tape.h"
#include "engine/core/tensor.h"

namespace skep {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
using Values = std::vector<double>;

/// Normal numbers with eight significant bits: the same numbers in every floating type.
Tensor random_tensor(const Shape& shape, DType dtype, std::uint64_t seed);

/// What a function gave.
struct Outcome {
  std::vector<Values> outputs, grads;  ///< grads: one per input, empty where none was wanted
};

/// Runs `function`, and backward from random output gradients, which `arrange` may lay out anew.
Outcome run_both_ways(const Function& function, const std::vector<Tensor>& inputs,
                      const std::function<Tensor(const Tensor&)>& arrange = {});

/// ||got - want|| / ||want||; the norm of the difference itself when `want` is zero. Anything that
/// is not a number gives infinity.
double relative_error(const Values& got, const Values& want);
/// The worst over all outputs and gradients. Inputs are of size one; a gradient whose root mean
/// square is below a tenth is compared with a tenth: one that vanishes in exact arithmetic is
/// nothing but rounding.
double relative_error(const Outcome& got, const Outcome& want);

/// Error to expect of one rounding to the type and a sum of moderate length.
double rounding_of(DType dtype);

/// Backward on the current tape from `outputs` with these gradients (undefined: none flows).
void backward_from(Tape& tape, const std::vector<Tensor>& outputs,
                   const std::vector<Tensor>& gradients);

}  // namespace skep
