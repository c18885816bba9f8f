#include "train/compress/error_feedback.h"

#include <utility>

#include "engine/kernels/copy.h"

namespace skep {

ErrorFeedback::ErrorFeedback(std::string name, std::int64_t elements)
    : name_(std::move(name)), residual_(zeros({elements})), noted_(zeros({elements})) {}

void ErrorFeedback::add_to(std::span<float> values, std::int64_t begin, double scale) const {
  const float* e = residual_.data<float>() + begin;
  const float factor = static_cast<float>(scale);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += e[i] * factor;
}

void ErrorFeedback::note(std::span<const float> values, std::span<const float> sent,
                         std::int64_t begin, double scale) {
  float* e = noted_.data<float>() + begin;
  const float factor = static_cast<float>(1 / scale);
  for (std::size_t i = 0; i < values.size(); ++i) e[i] = (values[i] - sent[i]) * factor;
}

void ErrorFeedback::commit() { copy(residual_, noted_); }

void ErrorFeedback::archive(Archive& archive) {
  archive.field(name_, residual_);
  copy(noted_, residual_);  // what will not be noted again, such as other ranks' parts
}

}  // namespace skep
