#pragma once
// A codec says how a span of gradients looks on the wire. Encoded sizes depend on the number of
// elements alone, so every rank knows what to expect. Values are finite; decoding gives finite
// values.
#include <cstddef>
#include <cstdint>
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
/// 1 byte an element and 4 a block: each block of `block` elements has its own step, its largest
/// magnitude over 127 (int4: half a byte, over 7). The error is at most half a step.
std::unique_ptr<Codec> make_int8_codec(std::int64_t block);
std::unique_ptr<Codec> make_int4_codec(std::int64_t block);
/// The largest share `density` of the elements exactly (8 bytes each), the rest by `rest`, which
/// then has smaller steps (Lin et al., "Deep Gradient Compression", ICLR 2018, with the rest sent,
/// not kept).
std::unique_ptr<Codec> make_topk_codec(double density, std::unique_ptr<Codec> rest);

}  // namespace skep
