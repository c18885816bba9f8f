#include "tools/generate/continuation.h"

#include "engine/autograd/no_grad.h"

namespace skep {

NextLogits::NextLogits(LanguageModel& model, Cache cache)
    : model_(model), cache_(cache == Cache::yes ? model.make_cache() : nullptr) {}

std::vector<float> NextLogits::operator()(std::span<const std::int32_t> ids) {
  const auto count = static_cast<std::int64_t>(ids.size());
  const std::int64_t context = model_.config().context;
  if (count > context) cache_.reset();
  const std::int64_t kept = cache_ ? cache_->length() : std::max<std::int64_t>(count - context, 0);
  check(kept < count, "generation: {} tokens, of which {} are known already", count, kept);
  const std::vector<std::int32_t> fresh(ids.begin() + kept, ids.end());
  Pass pass;
  pass.cache = cache_.get();
  const NoGrad pause;
  const Tensor logits = model_(tensor_of(fresh, {1, count - kept}), pass);  // (1, T, V)
  const Tensor last = logits.sliced(1, count - kept - 1, 1);
  const std::vector<double> values = to_doubles(last);
  return {values.begin(), values.end()};
}

void continue_tokens(NextLogits& next_logits, std::vector<std::int32_t>& ids,
                     const Continuation& wanted, const Sampling& sampling,
                     const std::function<void(std::int32_t)>& on_token) {
  for (std::int64_t i = 0; i < wanted.tokens; ++i) {
    const std::vector<float> logits = next_logits(ids);
    const std::int32_t id = sample(std::span(logits).first(wanted.known), sampling, i);
    ids.push_back(id);
    on_token(id);
    if (id == wanted.stop) return;
  }
}

}  // namespace skep
