// The difference of two runs of bytes: it restores them, and is small where little changed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "train/checkpoint/difference.h"

using namespace skep;

namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

Bytes of_floats(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("difference: a reference becomes what was packed, at any length") {
  for (const std::size_t count : {0, 1, 3, 4, 5, 7, 64, 4095, 100001}) {
    INFO(count << " bytes");
    const Bytes now = random_bytes(count, 1), reference = random_bytes(count, 2);
    Bytes restored = reference;
    REQUIRE(apply_difference(pack_difference(now, reference), restored));
    CHECK(restored == now);
  }
}

TEST_CASE("difference: what did not change takes nearly nothing") {
  // A block of zstd (128 KiB) of one repeated byte is 4 bytes; 64 more for the frame and a first
  // block that is written otherwise.
  const std::size_t count = std::size_t{4} << 20;
  const Bytes same = random_bytes(count, 3);
  CHECK(pack_difference(same, same).size() <= count / (128 << 10) * 4 + 64);
}

TEST_CASE("difference: a change of the low bytes of floats costs these bytes only") {
  // Signs, exponents and high bits stay: of 4 bytes a number, 1 is noise.
  std::vector<float> before(1 << 18), after(before.size());
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < before.size(); ++i) {
    before[i] = normal(random);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &before[i], 4);
    bits ^= random() & 0xFF;
    std::memcpy(&after[i], &bits, 4);
  }
  const std::size_t packed = pack_difference(of_floats(after), of_floats(before)).size();
  CHECK(packed >= before.size());
  CHECK(packed <= before.size() + before.size() / 50);
}

TEST_CASE("difference: what is none, or of another length, is refused") {
  const Bytes now = random_bytes(1000, 5), reference = random_bytes(1000, 6);
  const Bytes packed = pack_difference(now, reference);
  Bytes shorter(999), longer(1001), bytes = reference;
  CHECK_FALSE(apply_difference(packed, shorter));
  CHECK_FALSE(apply_difference(packed, longer));
  CHECK_FALSE(apply_difference(std::span(packed).first(packed.size() - 1), bytes));
  CHECK_FALSE(apply_difference({}, bytes));
  CHECK_FALSE(apply_difference(reference, bytes));
}
