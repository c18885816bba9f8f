#pragma once
// Checks a gradient against central differences in fp64. The results of `function` are contracted
// with fixed random weights, so that every output element counts.
#include <functional>
#include <string>
#include <vector>

#include "engine/core/tensor.h"

namespace skep {

struct GradcheckResult {
  double worst_error = 0;     ///< |analytic - numeric| / (1 + |numeric|), over all elements
  std::string where;          ///< the input and element of the worst
  std::int64_t elements = 0;  ///< how many derivatives were compared
};

/// `inputs` must be contiguous fp64; those that want a gradient are checked.
GradcheckResult gradcheck(
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function,
    const std::vector<Tensor>& inputs, double step = 1e-5);

}  // namespace skep
