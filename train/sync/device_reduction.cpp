// Gradients that never pass through the host's memory: the MPI library is given addresses in a
// GPU's memory. It helps where the library moves them by itself (GPUDirect); it costs the choice of
// wires, which is the library's own. Whether that can be, train/message_path.h finds out.
#include "engine/backends/backend.h"
#include "train/sync/reduction.h"

namespace skep {
namespace {

class DeviceFlight final : public Flight {
 public:
  DeviceFlight(Communicator& comm, std::shared_ptr<void> exposed, Pending pending)
      : comm_(comm), exposed_(std::move(exposed)), pending_(std::move(pending)) {}
  void advance() override { comm_.progress(); }
  void wait() override {
    pending_.wait();
    exposed_.reset();
  }

 private:
  Communicator& comm_;
  std::shared_ptr<void> exposed_;  // until the library has done its work
  Pending pending_;
};

class DeviceReduction final : public Reduction {
 public:
  std::string name() const override { return "fast"; }
  bool changes(const SyncRound& round) const override { return round.comm.size() > 1; }
  std::shared_ptr<Crossing> bring(ParameterStore& store, std::int64_t, std::int64_t) override {
    return store.gradients_computed();
  }
  void give_back(ParameterStore&, std::int64_t, std::int64_t) override {}
  std::unique_ptr<Flight> start(ParameterStore& store, std::int64_t begin, std::int64_t end,
                                const SyncRound& round) override {
    const std::span part = store.working_grads(begin, end);
    std::shared_ptr<void> exposed = backend(store.device()).expose();
    Pending sum = round.comm.start_all_reduce(part, Combine::sum, round.route());
    return std::make_unique<DeviceFlight>(round.comm, std::move(exposed), std::move(sum));
  }
};

}  // namespace

std::unique_ptr<Reduction> make_device_reduction() { return std::make_unique<DeviceReduction>(); }

}  // namespace skep
