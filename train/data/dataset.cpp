#include "train/data/dataset.h"

#include <algorithm>
#include <utility>

#include "engine/core/error.h"

namespace skep {

Dataset::Dataset(TokenStream tokens, std::int64_t context, std::int64_t known_ids)
    : tokens_(std::move(tokens)), context_(context), known_ids_(known_ids) {
  check(context >= 1, "dataset: context {}", context);
  windows_ = (targets() + context - 1) / context;
}

std::int64_t Dataset::fill(std::int64_t window, std::span<std::int32_t> inputs,
                           std::span<std::int32_t> targets_out, std::int64_t shift) const {
  check(window >= 0 && window < shifted_windows() && shift >= 0 && shift < context_,
        "dataset: window {} of {}, shift {}", window, shifted_windows(), shift);
  check(std::ssize(inputs) == context_ && std::ssize(targets_out) == context_,
        "dataset: room for {} inputs and {} targets, context {}", inputs.size(), targets_out.size(),
        context_);
  const std::int64_t begin = window * context_ - shift;
  const std::int64_t first = std::clamp<std::int64_t>(begin, 0, targets());
  const std::int64_t valid =
      std::max<std::int64_t>(std::min(begin + context_, targets()) - first, 0);
  const auto count = static_cast<std::size_t>(valid);
  tokens_.copy(first, inputs.first(count));
  tokens_.copy(first + 1, targets_out.first(count));
  require_known(first, inputs.first(count));
  require_known(first + 1, targets_out.first(count));
  std::ranges::fill(inputs.subspan(count), 0);
  std::ranges::fill(targets_out.subspan(count), ignored_target);
  return valid;
}

// All ids were looked at when the files were opened, but a mapped file shows what others write.
void Dataset::require_known(std::int64_t first, std::span<const std::int32_t> ids) const {
  const auto unknown =
      std::ranges::find_if(ids, [this](std::int32_t id) { return id < 0 || id >= known_ids_; });
  if (unknown == ids.end()) return;
  const TokenPlace place = tokens_.place(first + (unknown - ids.begin()));
  fail(ErrorKind::data,
       "{}: token {} at position {} is outside the vocabulary of {} ids: the file has changed "
       "since the run began",
       place.file, *unknown, place.position, known_ids_);
}

}  // namespace skep
