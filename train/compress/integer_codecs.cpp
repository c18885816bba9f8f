// int8 and int4: whole numbers of a step that each block of elements has for itself. Layout: the
// steps of all blocks as fp32, then the numbers, two to a byte for int4 (the earlier one in the low
// half).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/core/error.h"
#include "train/compress/codec.h"

namespace skep {
namespace {

class IntegerCodec : public Codec {
 public:
  IntegerCodec(std::int64_t block, int levels)
      : block_(static_cast<std::size_t>(block)), levels_(levels) {
    check(block >= 1, "codec: blocks of {} elements", block);
  }
  std::size_t bytes(std::size_t elements) const override {
    return 4 * blocks(elements) + packed_bytes(elements);
  }

  void encode(std::span<const float> values, std::span<std::byte> out) const override {
    std::byte* numbers = out.data() + 4 * blocks(values.size());
    std::fill_n(numbers, packed_bytes(values.size()), std::byte{0});
    for (std::size_t b = 0; b < blocks(values.size()); ++b) {
      const std::size_t begin = b * block_, end = std::min(begin + block_, values.size());
      float largest = 0;
      for (std::size_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(values[i]));
      const float step = largest / static_cast<float>(levels_);
      std::memcpy(out.data() + 4 * b, &step, 4);
      for (std::size_t i = begin; i < end; ++i) put(numbers, i, number(values[i], step));
    }
  }
  void decode(std::span<const std::byte> in, std::span<float> values) const override {
    const std::byte* numbers = in.data() + 4 * blocks(values.size());
    for (std::size_t b = 0; b < blocks(values.size()); ++b) {
      float step = 0;
      std::memcpy(&step, in.data() + 4 * b, 4);
      const std::size_t begin = b * block_, end = std::min(begin + block_, values.size());
      for (std::size_t i = begin; i < end; ++i)
        values[i] = static_cast<float>(get(numbers, i)) * step;
    }
  }

 protected:
  virtual std::size_t packed_bytes(std::size_t elements) const = 0;
  virtual void put(std::byte* numbers, std::size_t i, int number) const = 0;
  virtual int get(const std::byte* numbers, std::size_t i) const = 0;

 private:
  std::size_t blocks(std::size_t elements) const { return (elements + block_ - 1) / block_; }
  // In double: the quotient of two denormal floats is a good number.
  int number(float value, float step) const {
    if (step == 0) return 0;
    const double n = std::nearbyint(static_cast<double>(value) / static_cast<double>(step));
    return static_cast<int>(
        std::clamp(n, -static_cast<double>(levels_), static_cast<double>(levels_)));
  }

  std::size_t block_;
  int levels_;
};

class Int8Codec final : public IntegerCodec {
 public:
  explicit Int8Codec(std::int64_t block) : IntegerCodec(block, 127) {}
  std::string name() const override { return "int8"; }

 private:
  std::size_t packed_bytes(std::size_t elements) const override { return elements; }
  void put(std::byte* numbers, std::size_t i, int number) const override {
    numbers[i] = static_cast<std::byte>(number);
  }
  int get(const std::byte* numbers, std::size_t i) const override {
    return static_cast<std::int8_t>(numbers[i]);
  }
};

class Int4Codec final : public IntegerCodec {
 public:
  explicit Int4Codec(std::int64_t block) : IntegerCodec(block, 7) {}
  std::string name() const override { return "int4"; }

 private:
  std::size_t packed_bytes(std::size_t elements) const override { return (elements + 1) / 2; }
  void put(std::byte* numbers, std::size_t i, int number) const override {
    numbers[i / 2] |= static_cast<std::byte>((number + 8) << (i % 2 * 4));
  }
  int get(const std::byte* numbers, std::size_t i) const override {
    return (static_cast<int>(numbers[i / 2]) >> (i % 2 * 4) & 15) - 8;
  }
};

}  // namespace

std::unique_ptr<Codec> make_int8_codec(std::int64_t block) {
  return std::make_unique<Int8Codec>(block);
}
std::unique_ptr<Codec> make_int4_codec(std::int64_t block) {
  return std::make_unique<Int4Codec>(block);
}

}  // namespace skep
