#pragma once
// A codec says how a span of gradients looks on the wire. Encoded sizes depend on the number of
// elements alone, so every rank knows what to expect.
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace skep {

class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string name() const = 0;
  virtual std::size_t bytes(std::size_t elements) const = 0;
  /// `out` has bytes(values.size()) bytes.
  virtual void encode(std::span<const float> values, std::span<std::byte> out) const = 0;
  virtual void decode(std::span<const std::byte> in, std::span<float> values) const = 0;
};

/// 4 bytes an element, exact.
std::unique_ptr<Codec> make_fp32_codec();
/// 2 bytes an element, rounded to nearest even.
std::unique_ptr<Codec> make_bf16_codec();

}  // namespace skep
