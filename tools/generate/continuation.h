#pragma once
// A language model as a function of all tokens so far. It sees the last `context` of them, as in
// nanoGPT. While they all fit, keys and values of earlier positions are kept and each step computes
// one; once the window slides, every token changes its position, what was kept is void, and each
// step computes the whole window: with and without the cache the numbers are the same.
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "model/language_model.h"
#include "tools/generate/sampler.h"

namespace skep {

class NextLogits {
 public:
  enum class Cache { yes, no };
  /// The model must outlive this.
  NextLogits(LanguageModel& model, Cache cache);

  /// The logits (V) of the token after `ids`, which continue those of the call before. At least
  /// one id, all below V.
  std::vector<float> operator()(std::span<const std::int32_t> ids);

 private:
  LanguageModel& model_;
  std::unique_ptr<KvCache> cache_;  ///< null: compute everything each time
};

struct Continuation {
  std::int64_t tokens = 100;         ///< how many, at most
  std::int64_t known = 0;            ///< ids from here on never come
  std::optional<std::int32_t> stop;  ///< the last token, when it comes
};

/// Appends tokens to `ids` (not empty), telling `on_token` each as it comes.
void continue_tokens(NextLogits& next_logits, std::vector<std::int32_t>& ids,
                     const Continuation& wanted, const Sampling& sampling,
                     const std::function<void(std::int32_t)>& on_token);

}  // namespace skep
