#include "train/sync/diloco.h"

#include "engine/kernels/copy.h"
#include "train/sync/average.h"

namespace skep {
namespace {

class Diloco final : public GradientSync {
 public:
  explicit Diloco(const DilocoSettings& settings) : settings_(settings) {}
  std::string name() const override { return "diloco"; }
  std::int64_t period() const override { return settings_.period; }
  Replicas replicas() const override { return Replicas::apart; }
  Replicas starts_from() const override { return Replicas::equal; }

  void begin_step(ParameterStore& store) override {
    GradientSync::begin_step(store);
    if (start_.defined()) return;
    allocate(store);
    copy(start_, store.values());
  }

  SyncOutcome after_backward(ParameterStore&, const StepTotals& own,
                             const SyncRound& round) override {
    return {Update::due, own, sum_over_all(own, round.comm)};
  }

  void after_update(ParameterStore& store, const SyncRound& round, StepEnd) override {
    if (!round.ends_period(settings_.period)) return;
    float* now = store.values().data<float>();
    const float* start = start_.data<float>();
    for (std::int64_t i = 0; i < store.size(); ++i) now[i] = start[i] - now[i];
    average(store.values(), round.comm, round.route());
    take_outer_step(store);
    store.commit();
  }

  void archive(Archive& archive, ParameterStore& store) override {
    if (!start_.defined()) allocate(store);
    archive.field("outer_start", start_);
    archive.field("outer_momentum", momentum_);
  }

 private:
  void allocate(const ParameterStore& store) {
    start_ = empty_like(store.values());
    momentum_ = zeros(store.values().shape());
  }

  // m = mu m + g; w = start - lr (g + mu m), with the pseudo-gradient g where the values stand.
  void take_outer_step(ParameterStore& store) {
    const auto lr = static_cast<float>(settings_.outer_lr);
    const auto mu = static_cast<float>(settings_.outer_momentum);
    float *value = store.values().data<float>(), *start = start_.data<float>();
    float* m = momentum_.data<float>();
    for (std::int64_t i = 0; i < store.size(); ++i) {
      const float g = value[i];
      m[i] = mu * m[i] + g;
      value[i] = start[i] -= lr * (g + mu * m[i]);
    }
  }

  DilocoSettings settings_;
  Tensor start_, momentum_;  // undefined before the first step
};

}  // namespace

std::unique_ptr<GradientSync> make_diloco(const DilocoSettings& settings) {
  return std::make_unique<Diloco>(settings);
}

}  // namespace skep
