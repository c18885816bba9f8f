#pragma once
// Error feedback (Seide et al., Interspeech 2014; Karimireddy et al., ICML 2019): what a lossy
// codec did not send is added to the next gradient, so that nothing is lost, only late. With a = g
// + e the part sent is decode(encode(a)), and e' = a - sent is exact in fp32 where both are near
// each other. e' counts only once the step has updated the weights; a skipped step leaves e.
// Residuals are kept for a loss scale of 1.
#include "engine/core/archive.h"
#include "train/compress/codec.h"

namespace skep {

class ErrorFeedback {
 public:
  /// For `elements` flat gradients; `name` of its field in checkpoints.
  ErrorFeedback(std::string name, std::int64_t elements);

  /// values += residual [begin, …) times the loss scale.
  void add_to(std::span<float> values, std::int64_t begin, double scale) const;
  /// Notes what `sent` lacks of `values`.
  void note(std::span<const float> values, std::span<const float> sent, std::int64_t begin,
            double scale);
  /// The step updated the weights: what was noted is the residual now.
  void commit();
  void archive(Archive& archive);

 private:
  std::string name_;
  Tensor residual_, noted_;
};

}  // namespace skep
