#pragma once
// Going on with another number of ranks than a checkpoint has states: reads those of all ranks that
// saved. Where they had just met their weights are the same; moments become means, counters the
// largest, other numbers the smallest.
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "engine/backends/transfer.h"
#include "engine/kernels/copy.h"
#include "train/checkpoint/state_archive.h"

namespace skep {

class MeetingArchive final : public Archive {
 public:
  using States = std::vector<std::unique_ptr<LoadingArchive>>;
  /// `refuse` throws: it is called when weights are not the same.
  MeetingArchive(const States& states, std::function<void()> refuse)
      : states_(states), refuse_(std::move(refuse)) {}

  void field(std::string_view name, std::int64_t& value) override {
    const std::vector<std::int64_t> all = numbers(name, value);
    value = *std::max_element(all.begin(), all.end());
  }
  void field(std::string_view name, double& value) override {
    const std::vector<double> all = numbers(name, value);
    value = *std::min_element(all.begin(), all.end());
  }
  void field(std::string_view name, const Tensor& tensor) override {
    if (!is_float(tensor.dtype())) return states_.front()->field(name, tensor);  // the model's
    const Tensor one = empty(tensor.shape(), tensor.dtype());
    std::vector<double> first, sums(static_cast<std::size_t>(tensor.numel()));
    for (const auto& state : states_) {
      state->field(name, one);
      const std::vector<double> values = to_doubles(one);
      if (first.empty()) first = values;
      if (name == "weights" && values != first) refuse_();
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
    }
    for (double& sum : sums) sum /= static_cast<double>(states_.size());
    transfer(tensor, converted(tensor_of(sums, tensor.shape()), tensor.dtype()));
  }

 private:
  template <class T>
  std::vector<T> numbers(std::string_view name, T value) {
    std::vector<T> all(states_.size(), value);
    for (std::size_t i = 0; i < all.size(); ++i) states_[i]->field(name, all[i]);
    return all;
  }

  const States& states_;
  std::function<void()> refuse_;
};

}  // namespace skep
