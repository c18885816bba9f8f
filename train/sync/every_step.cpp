#include "train/sync/every_step.h"

#include <array>

namespace skep {
namespace {

class EveryStep final : public GradientSync {
 public:
  EveryStep(std::unique_ptr<Reduction> reduction, const BucketedSettings& settings)
      : sum_(std::move(reduction), settings) {}
  std::string name() const override { return "every_step"; }

  void before_backward(ParameterStore& store, const SyncRound& round, MicroBatch micro) override {
    sum_.before_backward(store, round, micro);
  }
  void progress() override { sum_.progress(); }

  Update after_backward(ParameterStore& store, StepTotals& totals,
                        const SyncRound& round) override {
    sum_.finish(store, round);
    std::array<double, 2> numbers{totals.loss_sum, totals.tokens};
    round.comm.all_reduce(numbers, Combine::sum,
                          Route(round.topology, round.seed, static_cast<long>(round.step)));
    totals = {numbers[0], numbers[1]};
    return Update::due;
  }

 private:
  BucketedSum sum_;
};

}  // namespace

std::unique_ptr<GradientSync> make_every_step(std::unique_ptr<Reduction> reduction,
                                              const BucketedSettings& settings) {
  return std::make_unique<EveryStep>(std::move(reduction), settings);
}

}  // namespace skep
