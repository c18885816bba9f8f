// SGD with momentum and decoupled weight decay.
#include "engine/kernels/copy.h"
#include "engine/optim/optimizer.h"
#include "engine/optim/ranges.h"

namespace skep {
namespace {

template <class T>
struct SgdStep {
  T *value, *velocity;
  const T* grad;
  T momentum, keep, rate, factor;

  HD void operator()(std::int64_t i) const {
    const T m = momentum * velocity[i] + grad[i] * factor;
    velocity[i] = m;
    value[i] = value[i] * keep - rate * m;
  }
};

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerSettings& settings, const Tensor& like)
      : settings_(settings), velocity_(zeros(like.shape(), like.dtype(), like.device())) {}

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
    archive.field("velocity", velocity_);
  }
  std::int64_t updates() const override { return updates_; }

 private:
  template <class T>
  void step(const Tensor& values, const Tensor& grads, const FlatRange& range, double decay,
            double lr, const Tensor& factor) const {
    const SgdStep<T> body{values.data<T>() + range.begin,
                          velocity_.data<T>() + range.begin,
                          grads.data<T>() + range.begin,
                          static_cast<T>(settings_.beta1),
                          static_cast<T>(1 - lr * decay),
                          static_cast<T>(lr),
                          T(0)};
    run_step(factor, range.end - range.begin, body);
  }

  OptimizerSettings settings_;
  std::int64_t updates_ = 0;
  Tensor velocity_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const OptimizerSettings& settings, const Tensor& like) {
  return std::make_unique<Sgd>(settings, like);
}

}  // namespace skep
