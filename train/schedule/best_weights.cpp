#include "train/schedule/best_weights.h"

#include "engine/core/error.h"
#include "engine/kernels/copy.h"

namespace skep {
namespace {

/// Calls the one or the other for each field, in the part's order.
template <class OnTensor, class OnCounter>
class Visitor final : public Archive {
 public:
  Visitor(OnTensor tensor, OnCounter counter) : tensor_(tensor), counter_(counter) {}
  void field(std::string_view name, std::int64_t& value) override { counter_(name, value); }
  void field(std::string_view name, double&) override {
    fail(ErrorKind::bug, "best weights: {} of the optimizer is not kept", name);
  }
  void field(std::string_view name, const Tensor& tensor) override { tensor_(name, tensor); }

 private:
  OnTensor tensor_;
  OnCounter counter_;
};

}  // namespace

BestWeights::BestWeights(ParameterStore& parameters, Optimizer& optimizer)
    : parameters_(parameters), optimizer_(optimizer) {}

void BestWeights::offer(std::int64_t step, double validation_loss) {
  if (validation_loss > validation_loss_) return;
  step_ = step;
  validation_loss_ = validation_loss;
  copy_state();
}

void BestWeights::copy_state() {
  std::size_t at = 0;
  const auto keep = [&](std::string_view name, const Tensor& tensor) {
    if (at == tensors_.size())
      tensors_.emplace_back("best_" + std::string(name), empty_like(tensor));
    copy(tensors_[at++].second, tensor);
  };
  counters_.clear();
  Visitor copying(keep, [&](std::string_view name, std::int64_t value) {
    counters_.emplace_back("best_" + std::string(name), value);
  });
  keep("weights", parameters_.values());
  optimizer_.archive(copying);
}

void BestWeights::restore() {
  check(step_ >= 0, "best weights: there are none yet");
  std::size_t tensor = 0, counter = 0;
  const auto bring_back = [&](std::string_view, const Tensor& into) {
    copy(into, tensors_[tensor++].second);
  };
  Visitor restoring(bring_back, [&](std::string_view, std::int64_t& value) {
    value = counters_[counter++].second;
  });
  bring_back("weights", parameters_.values());
  optimizer_.archive(restoring);
  parameters_.commit();
}

void BestWeights::archive(Archive& archive) {
  archive.field("best_step", step_);
  archive.field("best_validation_loss", validation_loss_);
  if (step_ < 0) return;
  if (tensors_.empty()) copy_state();  // to be overwritten by what is loaded
  for (auto& [name, tensor] : tensors_) archive.field(name, tensor);
  for (auto& [name, value] : counters_) archive.field(name, value);
}

}  // namespace skep
