#pragma once
// Keys and values of the positions seen so far, one pair a layer: generation computes only the new
// position and looks back at these. Used without gradients.
#include <vector>

#include "engine/core/tensor.h"

namespace skep {

class KvCache {
 public:
  explicit KvCache(std::int64_t layers) : layers_(layers) {}

  std::int64_t length() const { return length_; }

  /// Appends key and value (B, T, H, D) of the positions being computed and returns all so far,
  /// (B, length + T, H, D). The buffers hold `capacity` positions.
  struct Pair {
    Tensor key, value;
  };
  Pair append(std::int64_t layer, const Tensor& key, const Tensor& value, std::int64_t capacity);
  /// After all layers have appended: the positions count as seen.
  void advance(std::int64_t positions) { length_ += positions; }

 private:
  std::vector<Pair> layers_;
  std::int64_t length_ = 0;
};

}  // namespace skep
