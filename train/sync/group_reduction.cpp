// Gradients that go from GPU to GPU by NCCL: the sum is one more piece of the GPU's work, and
// nobody on the host waits for it. It helps where GPUs have wires of their own (NVLink); it costs
// the choice of topology and reduction, which are NCCL's.
#include "train/sync/reduction.h"

namespace skep {
namespace {

class GroupFlight final : public Flight {
 public:
  explicit GroupFlight(std::unique_ptr<DeviceSum> sum) : sum_(std::move(sum)) {}
  void advance() override {}
  void wait() override { sum_->hold_back(); }

 private:
  std::unique_ptr<DeviceSum> sum_;
};

class GroupReduction final : public Reduction {
 public:
  explicit GroupReduction(std::shared_ptr<DeviceGroup> group) : group_(std::move(group)) {}
  std::string name() const override { return "fast"; }
  // The sum itself waits for what is computed.
  std::shared_ptr<Crossing> bring(ParameterStore&, std::int64_t, std::int64_t) override {
    return std::make_shared<FinishedCrossing>();
  }
  void give_back(ParameterStore&, std::int64_t, std::int64_t) override {}
  std::unique_ptr<Flight> start(ParameterStore& store, std::int64_t begin, std::int64_t end,
                                const SyncRound&) override {
    return std::make_unique<GroupFlight>(
        group_->start_sum(store.working_grads().sliced(0, begin, end - begin)));
  }

 private:
  std::shared_ptr<DeviceGroup> group_;
};

}  // namespace

std::unique_ptr<Reduction> make_group_reduction(std::shared_ptr<DeviceGroup> group) {
  return std::make_unique<GroupReduction>(std::move(group));
}

}  // namespace skep
