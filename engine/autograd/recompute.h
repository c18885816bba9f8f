#pragma once
// Activation recomputation (Chen et al., "Training deep nets with sublinear memory cost", 2016): a
// part of the network keeps only its inputs; backward runs it again to have its inner activations
// back, one part at a time. It costs one more forward pass and changes no bit of any gradient.
#include <functional>
#include <vector>

#include "engine/core/tensor.h"

namespace skep {

/// f(inputs), on the tape as one node. f must be a pure function: the same values whenever it runs,
/// dropout included. Tensors that f captures (parameters, say) get their gradients too; until
/// backward has run, they must not change and f stays alive. Without a tape it is f(inputs).
std::vector<Tensor> recomputed(std::function<std::vector<Tensor>(const std::vector<Tensor>&)> f,
                               const std::vector<Tensor>& inputs);

/// The same for one input and one output.
Tensor recomputed(std::function<Tensor(const Tensor&)> f, const Tensor& x);

/// True while backward runs a part of the network again: what was told in forward is not told
/// twice.
bool recomputing();

}  // namespace skep
