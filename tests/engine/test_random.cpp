// Philox against the known answers of its authors' distribution (Random123, kat_vectors), and the
// distributions built on it against their moments.
#include <catch2/catch.hpp>
#include <set>

#include "engine/core/random.h"

namespace skep {
namespace {

void check_words(const Philox& p, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                 std::uint32_t d) {
  CHECK(p.word[0] == a);
  CHECK(p.word[1] == b);
  CHECK(p.word[2] == c);
  CHECK(p.word[3] == d);
}

TEST_CASE("Philox4x32-10 gives the published answers") {
  check_words(philox(0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  check_words(philox(~0ull, ~0ull, ~0ull), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  // Words are numbered from the low half: counter 243f6a88 85a308d3 13198a2e 03707344.
  check_words(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e), 0xd16cfe09,
              0x94fdcceb, 0x5001e420, 0x24126ea1);
}

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0;
};
template <class F>
Moments moments_of(std::uint64_t n, F f) {
  Moments m;
  for (std::uint64_t i = 0; i < n; ++i) m.mean += f(i) / static_cast<double>(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    const double d = f(i) - m.mean;
    m.variance += d * d / static_cast<double>(n);
    m.skew += d * d * d / static_cast<double>(n);
    m.kurtosis += d * d * d * d / static_cast<double>(n);
  }
  return m;
}

// Bounds are five standard errors of each estimate at n = 400,000.
constexpr std::uint64_t n = 400000;

TEST_CASE("uniform: moments of [0, 1)") {
  const Moments m = moments_of(n, [](std::uint64_t i) {
    const double u = random_uniform(12, i);
    if (u < 0 || u >= 1) FAIL("outside [0, 1): " << u);
    return u;
  });
  CHECK(std::abs(m.mean - 0.5) < 0.0023);
  CHECK(std::abs(m.variance - 1.0 / 12) < 0.0006);
}

TEST_CASE("normal: moments of the standard normal") {
  const Moments m = moments_of(n, [](std::uint64_t i) { return random_normal(12, i); });
  CHECK(std::abs(m.mean) < 0.008);
  CHECK(std::abs(m.variance - 1) < 0.0112);
  CHECK(std::abs(m.skew) < 0.031);
  CHECK(std::abs(m.kurtosis - 3) < 0.078);
}

TEST_CASE("neighbouring draws and neighbouring keys are uncorrelated") {
  double lag = 0, keys = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    lag += random_normal(3, i) * random_normal(3, i + 1) / static_cast<double>(n);
    keys += random_normal(3, i) * random_normal(4, i) / static_cast<double>(n);
  }
  CHECK(std::abs(lag) < 0.008);
  CHECK(std::abs(keys) < 0.008);
}

TEST_CASE("random_below: every value equally often, none outside") {
  std::uint64_t count[7] = {};
  for (std::uint64_t i = 0; i < 70000; ++i) {
    const std::uint64_t x = random_below(5, i, 7);
    REQUIRE(x < 7);
    ++count[x];
  }
  for (std::uint64_t c : count) CHECK(std::abs(static_cast<double>(c) - 10000) < 470);
  CHECK(random_below(5, 0, 1) == 0);
}

TEST_CASE("derived keys differ by number and by label") {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::uint64_t number = 0; number < 100; ++number) keys.insert(derive_key(seed, number));
  for (const char* label : {"dropout", "weights", "order", ""})
    keys.insert(derive_key(0, std::string_view(label)));
  CHECK(keys.size() == 1004);
}

}  // namespace
}  // namespace skep
