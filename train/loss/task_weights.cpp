#include "train/loss/task_weights.h"

#include <cmath>

#include "engine/backends/transfer.h"
#include "engine/kernels/copy.h"
#include "engine/ops/ops.h"

namespace skep {

TaskWeights::TaskWeights(TaskWeighting weighting, std::vector<double> given)
    : given_(std::move(given)) {
  if (weighting == TaskWeighting::uncertainty)
    log_variances_ = &parameter("tasks.log_variances", {std::ssize(given_)}, constant_init(0));
}

Tensor TaskWeights::factors() { return (*this)(tensor_of(given_, {std::ssize(given_)}), Pass{}); }

Tensor TaskWeights::forward(const Tensor& given, const Pass&) {
  if (!log_variances_) return given;
  const Tensor& s = log_variances_->value;
  return mul(exp(scale(s, -1)), to_device(converted(given, s.dtype()), s.device()));
}

Tensor TaskWeights::penalty(double tokens) const {
  return log_variances_ ? scale(sum(log_variances_->value), tokens) : Tensor{};
}

std::vector<double> TaskWeights::log_variances() const {
  return log_variances_ ? to_doubles(log_variances_->value) : std::vector<double>{};
}

std::vector<double> TaskWeights::values() const {
  std::vector<double> values = given_;
  const std::vector<double> s = log_variances();
  for (std::size_t i = 0; i < s.size(); ++i) values[i] *= std::exp(-s[i]);
  return values;
}

void TaskWeights::archive(Archive& archive) {
  if (log_variances_) archive.field("log_variances", log_variances_->value);
}

}  // namespace skep
