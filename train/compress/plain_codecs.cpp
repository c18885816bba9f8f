// The codecs that only change the type: fp32 and bf16.
#include <cstring>

#include "engine/core/dtype.h"
#include "train/compress/codec.h"

namespace skep {
namespace {

class Fp32Codec final : public Codec {
 public:
  std::string name() const override { return "fp32"; }
  std::size_t bytes(std::size_t elements) const override { return 4 * elements; }
  void encode(std::span<const float> values, std::span<std::byte> out) const override {
    if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  }
  void decode(std::span<const std::byte> in, std::span<float> values) const override {
    if (!values.empty()) std::memcpy(values.data(), in.data(), in.size());
  }
};

class Bf16Codec final : public Codec {
 public:
  std::string name() const override { return "bf16"; }
  std::size_t bytes(std::size_t elements) const override { return 2 * elements; }
  void encode(std::span<const float> values, std::span<std::byte> out) const override {
    bf16* narrow = reinterpret_cast<bf16*>(out.data());
    for (std::size_t i = 0; i < values.size(); ++i) narrow[i] = bf16(values[i]);
  }
  void decode(std::span<const std::byte> in, std::span<float> values) const override {
    const bf16* narrow = reinterpret_cast<const bf16*>(in.data());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(narrow[i]);
  }
};

}  // namespace

std::unique_ptr<Codec> make_fp32_codec() { return std::make_unique<Fp32Codec>(); }
std::unique_ptr<Codec> make_bf16_codec() { return std::make_unique<Bf16Codec>(); }

}  // namespace skep
