#include "train/sync/every_step.h"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/kernels/copy.h"

namespace skep {
namespace {

class EveryStep final : public GradientSync {
 public:
  EveryStep(std::shared_ptr<Reduction> reduction, const BucketedSettings& settings)
      : sum_(std::move(reduction), settings) {}
  std::string name() const override { return "every_step"; }

  void before_backward(ParameterStore& store, const SyncRound& round, MicroBatch micro) override {
    sum_.before_backward(store, round, micro);
  }
  void progress() override { sum_.progress(); }
  void end_backward() override { sum_.end_backward(); }

  SyncOutcome after_backward(ParameterStore& store, const StepTotals& own,
                             const SyncRound& round) override {
    sum_.finish(store, round);
    const Health health = sum_.health();
    std::array<double, 8> numbers{health.not_finite, health.out_of_range};
    const TravellingTotals totals = to_numbers(own);
    std::copy(totals.begin(), totals.end(), numbers.begin() + 2);
    round.comm.all_reduce(numbers, Combine::sum, round.route());
    sum_.judge({numbers[0], numbers[1]});
    // What a sum of integers cannot say: the step is skipped, as with any other way of summing.
    if (numbers[0] > 0) fill(store.working_grads(), std::numeric_limits<double>::quiet_NaN());
    const StepTotals all = from_numbers(std::span(numbers).last<6>());
    return {Update::due, all, all};
  }

  void after_update(ParameterStore&, const SyncRound&, StepEnd end) override { sum_.settle(end); }

 private:
  BucketedSum sum_;
};

}  // namespace

std::unique_ptr<GradientSync> make_every_step(std::shared_ptr<Reduction> reduction,
                                              const BucketedSettings& settings) {
  return std::make_unique<EveryStep>(std::move(reduction), settings);
}

}  // namespace skep
