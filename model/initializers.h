#pragma once
// How a parameter starts. An element is a function of (seed, path, index): the same on every rank,
// whatever the order in which parameters are made.
#include <cstdint>
#include <string_view>

#include "engine/core/tensor.h"

namespace skep {

struct Init {
  enum class Kind { normal, constant } kind = Kind::constant;
  double value = 0;               ///< standard deviation, or the constant
  std::int64_t rows = INT64_MAX;  ///< rows from here on start (and stay) at 0: padding
};
inline Init normal_init(double standard_deviation) {
  return {Init::Kind::normal, standard_deviation};
}
inline Init constant_init(double value) { return {Init::Kind::constant, value}; }

/// Fills a contiguous fp32 or fp64 tensor.
void initialize(const Tensor& parameter, const Init& init, std::uint64_t seed,
                std::string_view path);

}  // namespace skep
