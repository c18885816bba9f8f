#include "train/sync/local_sgd.h"

#include <array>

#include "train/sync/average.h"

namespace skep {
namespace {

class LocalSgd final : public GradientSync {
 public:
  explicit LocalSgd(std::int64_t period) : period_(period) {}
  std::string name() const override { return "local_sgd"; }
  Replicas replicas() const override { return Replicas::apart; }
  std::int64_t period() const override { return period_; }

  SyncOutcome after_backward(ParameterStore&, const StepTotals& own,
                             const SyncRound& round) override {
    // 48 bytes a step, so that every step can be reported for all ranks.
    return {Update::due, own, sum_over_all(own, round.comm)};
  }

  void after_update(ParameterStore& store, const SyncRound& round, StepEnd) override {
    if (!round.ends_period(period_)) return;
    average(store.values(), round.comm, round.route());
    store.commit();
  }

 private:
  std::int64_t period_;
};

}  // namespace

std::unique_ptr<GradientSync> make_local_sgd(std::int64_t period) {
  return std::make_unique<LocalSgd>(period);
}

}  // namespace skep
