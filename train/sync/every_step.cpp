#include <array>

#include "train/sync/gradient_sync.h"

namespace skep {
namespace {

class EveryStep final : public GradientSync {
 public:
  std::string name() const override { return "every_step"; }

  Update after_backward(ParameterStore& store, StepTotals& totals,
                        const SyncRound& round) override {
    const Route route(round.topology, round.seed, static_cast<long>(round.step));
    const Tensor& grads = store.grads();
    round.comm.all_reduce(std::span(grads.data<float>(), static_cast<std::size_t>(grads.numel())),
                          Combine::sum, route);
    std::array<double, 2> numbers{totals.loss_sum, totals.tokens};
    round.comm.all_reduce(numbers, Combine::sum, route);
    totals = {numbers[0], numbers[1]};
    return Update::due;
  }
};

}  // namespace

std::unique_ptr<GradientSync> make_every_step() { return std::make_unique<EveryStep>(); }

}  // namespace skep
