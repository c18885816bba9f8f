#pragma once
// Optimizers: loops over flat spans of parameters. A range says which rule of decay its parameters
// have; the gradient is multiplied by one factor on the way in (normalisation and clipping cost no
// pass of their own).
#include <memory>
#include <span>
#include <vector>

#include "engine/core/archive.h"
#include "engine/core/tensor.h"

namespace skep {

/// Elements [begin, end) of the flat parameters.
struct FlatRange {
  enum class Decay { no, yes };
  std::int64_t begin = 0, end = 0;
  Decay decay = Decay::yes;
};

struct OptimizerSettings {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// One update of `values` from `factor` * `grads` (flat, equal sizes); the factor is a scalar in
  /// fp64 where they are. A factor of 0 leaves everything as it is: then uncount() the update.
  virtual void update(const Tensor& values, const Tensor& grads, std::span<const FlatRange> ranges,
                      double lr, const Tensor& factor) = 0;
  /// The last update changed nothing.
  virtual void uncount() = 0;
  virtual void archive(Archive& archive) = 0;
  /// Updates so far: what bias corrections count.
  virtual std::int64_t updates() const = 0;
};

/// AdamW (Loshchilov & Hutter 2019): w -= lr (m / c1) / (sqrt(v / c2) + eps) after w *= 1 - lr
/// decay; c = 1 - beta^updates. Moments are `like` the parameters.
std::unique_ptr<Optimizer> make_adamw(const OptimizerSettings& settings, const Tensor& like);

/// SGD with momentum beta1 (0: none) and decoupled decay: m = beta1 m + g; w = w (1 - lr decay) -
/// lr m.
std::unique_ptr<Optimizer> make_sgd(const OptimizerSettings& settings, const Tensor& like);

}  // namespace skep
