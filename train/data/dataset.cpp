#include "train/data/dataset.h"

#include <algorithm>
#include <utility>

#include "engine/core/error.h"

namespace skep {

Dataset::Dataset(TokenStream tokens, std::int64_t context)
    : tokens_(std::move(tokens)), context_(context) {
  check(context >= 1, "dataset: context {}", context);
  windows_ = (targets() + context - 1) / context;
}

std::int64_t Dataset::fill(std::int64_t window, std::span<std::int32_t> inputs,
                           std::span<std::int32_t> targets_out) const {
  check(window >= 0 && window < windows_, "dataset: window {} of {}", window, windows_);
  check(std::ssize(inputs) == context_ && std::ssize(targets_out) == context_,
        "dataset: room for {} inputs and {} targets, context {}", inputs.size(), targets_out.size(),
        context_);
  const std::int64_t first = window * context_;
  const std::int64_t valid = std::min(context_, targets() - first);
  const auto count = static_cast<std::size_t>(valid);
  tokens_.copy(first, inputs.first(count));
  tokens_.copy(first + 1, targets_out.first(count));
  std::ranges::fill(inputs.subspan(count), 0);
  std::ranges::fill(targets_out.subspan(count), ignored_target);
  return valid;
}

}  // namespace skep
