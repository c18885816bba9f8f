#include "train/sync/accumulate.h"

#include "engine/autograd/grad_slot.h"
#include "train/sync/every_step.h"

namespace skep {
namespace {

// To the rule inside, the whole period is one step of many micro-batches.
class Accumulate final : public GradientSync {
 public:
  Accumulate(std::int64_t period, std::shared_ptr<Reduction> reduction,
             const BucketedSettings& settings)
      : period_(period),
        reduction_(std::move(reduction)),
        every_step_(make_every_step(reduction_, settings)) {}
  std::string name() const override { return "accumulate"; }
  std::int64_t period() const override { return period_; }
  bool keeps_state() const override { return gathered_steps_ > 0; }

  void begin_step(ParameterStore& store) override {
    if (gathered_steps_ == 0)
      store.clear_gradients();
    else if (restored_)
      for (const ParameterStore::Entry& entry : store.list()) entry.value.slot()->written = true;
    restored_ = false;
  }

  void before_backward(ParameterStore& store, const SyncRound& round, MicroBatch micro) override {
    every_step_->before_backward(
        store, round, {gathered_steps_ * micro.count + micro.index, period_ * micro.count});
  }
  void progress() override { every_step_->progress(); }
  void end_backward() override { every_step_->end_backward(); }

  SyncOutcome after_backward(ParameterStore& store, const StepTotals& own,
                             const SyncRound& round) override {
    const StepTotals all = sum_over_all(own, round.comm);
    gathered_.loss_sum += own.loss_sum;
    gathered_.tokens += own.tokens;
    ++gathered_steps_;
    if (!round.ends_period(period_)) return {Update::not_yet, {}, all};
    const SyncOutcome whole = every_step_->after_backward(store, gathered_, round);
    gathered_ = {};
    gathered_steps_ = 0;
    return {Update::due, whole.summed, all};
  }

  void after_update(ParameterStore& store, const SyncRound& round, StepEnd end) override {
    every_step_->after_update(store, round, end);
  }

  void archive(Archive& archive, ParameterStore& store) override {
    archive.field("gathered_steps", gathered_steps_);
    if (gathered_steps_ == 0) return;
    archive.field("gathered_loss", gathered_.loss_sum);
    archive.field("gathered_tokens", gathered_.tokens);
    reduction_->archive_partial(archive, store);
    restored_ = true;  // harmless after saving: what was gathered is there to be added to
  }

 private:
  std::int64_t period_;
  std::shared_ptr<Reduction> reduction_;
  std::unique_ptr<GradientSync> every_step_;
  StepTotals gathered_;  // of the period so far
  std::int64_t gathered_steps_ = 0;
  bool restored_ = false;  // are gradients there that no backward of this process has written?
};

}  // namespace

std::unique_ptr<GradientSync> make_accumulate(std::int64_t period,
                                              std::shared_ptr<Reduction> reduction,
                                              const BucketedSettings& settings) {
  return std::make_unique<Accumulate>(period, std::move(reduction), settings);
}

}  // namespace skep
