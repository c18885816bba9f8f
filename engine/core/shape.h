#pragma once
// Sizes and strides of a tensor: up to eight numbers kept inline, so that making a view allocates
// nothing. Counts are of elements, 64-bit: 64 x 1024 x 50257 does not fit in 32.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "engine/core/error.h"

namespace skep {

class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) {
    for (std::int64_t n : sizes) push_back(n);
  }

  int rank() const { return rank_; }
  std::int64_t operator[](int i) const { return sizes_[wrap(i)]; }  ///< negative: from the end
  std::int64_t& operator[](int i) { return sizes_[wrap(i)]; }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }

  /// Number of elements; 1 for a scalar.
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (std::int64_t s : *this) n *= s;
    return n;
  }
  void push_back(std::int64_t n) {
    check(rank_ < max_rank, "a tensor has at most {} dimensions", max_rank);
    sizes_[rank_++] = n;
  }
  /// The dimension `i`, counted from the end when negative; throws when out of range.
  int wrap(int i) const {
    const int at = i < 0 ? i + rank_ : i;
    check(at >= 0 && at < rank_, "dimension {} of a tensor with {}", i, rank_);
    return at;
  }
  bool operator==(const Shape& o) const {
    if (rank_ != o.rank_) return false;
    for (int i = 0; i < rank_; ++i)
      if (sizes_[i] != o.sizes_[i]) return false;
    return true;
  }

 private:
  std::array<std::int64_t, max_rank> sizes_{};
  int rank_ = 0;
};

using Strides = Shape;

std::string to_string(const Shape& shape);              ///< "(2, 3, 4)"
Strides contiguous_strides(const Shape& shape);         ///< row-major
Shape broadcast_shape(const Shape& a, const Shape& b);  ///< NumPy's rule; throws if none

}  // namespace skep

template <>
struct fmt::formatter<skep::Shape> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const skep::Shape& s, Context& ctx) const {
    return fmt::formatter<std::string>::format(skep::to_string(s), ctx);
  }
};
