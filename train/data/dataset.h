#pragma once
// A token stream as windows: window w holds inputs wT … wT+T-1, and each input's target is the
// token after it. n tokens make ceil((n-1)/T) windows, and every token but the first is a target
// exactly once. The last window is padded: its missing inputs are token 0, their targets ignored.
// Training cuts each epoch elsewhere: shifted by s tokens, window w begins at wT - s, the first and
// the last are short, and one more window is needed.
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "train/data/token_stream.h"

namespace skep {

/// The target that losses skip.
constexpr std::int32_t ignored_target = -1;

class Dataset {
 public:
  /// No windows: what a validation set that does not exist looks like.
  Dataset() = default;

  /// `known_ids`: what every id is below, as long as nobody changes the file.
  Dataset(TokenStream tokens, std::int64_t context,
          std::int64_t known_ids = std::numeric_limits<std::int64_t>::max());

  std::int64_t windows() const { return windows_; }
  /// Enough windows to cover every target at any shift in [0, T).
  std::int64_t shifted_windows() const {
    return windows_ > 0 && context_ > 1 ? windows_ + 1 : windows_;
  }
  std::int64_t context() const { return context_; }
  /// Of all tokens: the same data gives the same number.
  std::uint64_t hash() const { return tokens_.hash(); }
  std::int64_t targets() const { return tokens_.size() > 0 ? tokens_.size() - 1 : 0; }

  /// Writes window `window`: inputs (T), targets (T). Returns the number of targets not ignored,
  /// which is 0 for a shifted window beyond the end. Error(data) for an id that is not known.
  std::int64_t fill(std::int64_t window, std::span<std::int32_t> inputs,
                    std::span<std::int32_t> targets, std::int64_t shift = 0) const;

 private:
  void require_known(std::int64_t first, std::span<const std::int32_t> ids) const;

  TokenStream tokens_;
  std::int64_t context_ = 1;
  std::int64_t windows_ = 0;
  std::int64_t known_ids_ = 0;
};

}  // namespace skep
