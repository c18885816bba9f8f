// AdamW: one pass over values, gradients and both moments; memory-bound.
#include <cmath>

#include "engine/kernels/copy.h"
#include "engine/kernels/math.h"
#include "engine/optim/optimizer.h"
#include "engine/optim/ranges.h"

namespace skep {
namespace {

template <class T>
struct AdamWStep {
  T *value, *first, *second;
  const T* grad;
  T beta1, beta2, eps, keep, step, second_correction, factor;

  HD void operator()(std::int64_t i) const {
    const T g = grad[i] * factor;
    const T m = beta1 * first[i] + (T(1) - beta1) * g;
    const T v = beta2 * second[i] + (T(1) - beta2) * g * g;
    first[i] = m;
    second[i] = v;
    value[i] = value[i] * keep - step * m / (math::sqrt(v * second_correction) + eps);
  }
};

class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerSettings& settings, const Tensor& like)
      : settings_(settings),
        first_(zeros(like.shape(), like.dtype(), like.device())),
        second_(zeros(like.shape(), like.dtype(), like.device())) {}

  void update(const Tensor& values, const Tensor& grads, std::span<const FlatRange> ranges,
              double lr, const Tensor& factor) override {
    ++updates_;
    for_each_range(values, ranges, settings_.weight_decay,
                   [&](auto zero, const FlatRange& range, double decay) {
                     step<decltype(zero)>(values, grads, range, decay, lr, factor);
                   });
  }
  void uncount() override { --updates_; }
  void archive(Archive& archive) override {
    archive.field("updates", updates_);
    archive.field("first_moment", first_);
    archive.field("second_moment", second_);
  }
  std::int64_t updates() const override { return updates_; }

 private:
  template <class T>
  void step(const Tensor& values, const Tensor& grads, const FlatRange& range, double decay,
            double lr, const Tensor& factor) const {
    const double n = static_cast<double>(updates_);
    const AdamWStep<T> body{values.data<T>() + range.begin,
                            first_.data<T>() + range.begin,
                            second_.data<T>() + range.begin,
                            grads.data<T>() + range.begin,
                            static_cast<T>(settings_.beta1),
                            static_cast<T>(settings_.beta2),
                            static_cast<T>(settings_.eps),
                            static_cast<T>(1 - lr * decay),
                            static_cast<T>(lr / (1 - std::pow(settings_.beta1, n))),
                            static_cast<T>(1 / (1 - std::pow(settings_.beta2, n))),
                            T(0)};
    run_step(factor, range.end - range.begin, body);
  }

  OptimizerSettings settings_;
  std::int64_t updates_ = 0;
  Tensor first_, second_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(const OptimizerSettings& settings, const Tensor& like) {
  return std::make_unique<AdamW>(settings, like);
}

}  // namespace skep
