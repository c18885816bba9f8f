#pragma once
// The walk every optimizer makes: each range of flat parameters, in the parameters' type.
#include <span>

#include "engine/kernels/launch.h"
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

// A step whose factor is known only where it runs.
template <class Step>
struct WithFactor {
  Step step;
  const double* factor;
  HD void operator()(std::int64_t i) const {
    if (*factor == 0) return;
    Step with = step;
    with.factor = static_cast<decltype(with.factor)>(*factor);
    with(i);
  }
};

/// step(i) for i in [0, n) with step.factor = factor, a scalar in fp64; for a factor of 0 nothing.
template <class Step>
void run_step(const Tensor& factor, std::int64_t n, Step step) {
  const WithFactor<Step> with{step, factor.data<double>()};
  if (factor.device().kind != Device::Kind::cpu) return for_each_index(factor.device(), n, with);
  if (*with.factor == 0) return;
  step.factor = static_cast<decltype(step.factor)>(*with.factor);
  for_each_index(factor.device(), n, step);
}

}  // namespace skep
