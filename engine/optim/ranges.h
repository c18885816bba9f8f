#pragma once
// The walk every optimizer makes: each range of flat parameters, in the parameters' type.
#include <span>

#include "engine/optim/optimizer.h"

namespace skep {

/// step(zero of fp32 or fp64, range, decay of the range) for each range; the values count as
/// changed.
template <class Step>
void for_each_range(const Tensor& values, std::span<const FlatRange> ranges, double weight_decay,
                    Step step) {
  for (const FlatRange& range : ranges) {
    const double decay = range.decay == FlatRange::Decay::yes ? weight_decay : 0;
    if (values.dtype() == DType::f64) {
      step(double{}, range, decay);
    } else {
      step(float{}, range, decay);
    }
  }
  values.storage()->bump_version();
}

}  // namespace skep
