// Conversions between element types: the numbers of case BF16-CVT, every 16-bit pattern, and the
// compiler's own _Float16 as an independent reference.
#include <catch2/catch.hpp>
#include <cfloat>
#include <limits>

#include "engine/core/dtype.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

float to_float(bf16 x) { return static_cast<float>(x); }
float to_float(f16 x) { return static_cast<float>(x); }

// The nearest multiple of `step` by exact arithmetic, ties to the even multiple.
double nearest_multiple(double x, double step) {
  const double q = x / step, down = std::floor(q), rest = q - down;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(down, 2) != 0);
  return (up ? down + 1 : down) * step;
}
// What rounding to `bits` significant bits and exponents >= `lowest` gives, without range limit.
double slow_round(double x, int bits, int lowest) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), lowest);
  return nearest_multiple(x, std::ldexp(1.0, exponent - bits + 1));
}

TEST_CASE("BF16-CVT: the known hard numbers") {
  CHECK(bf16(0.2691408770f).bits == 0x3E8A);
  CHECK(to_float(bf16(1.00390625f)) == 1.0f);
  CHECK(to_float(bf16(1.01171875f)) == 1.015625f);
  CHECK(to_float(bf16(FLT_MAX)) == INFINITY);
  CHECK(to_float(bf16(-FLT_MAX)) == -INFINITY);
  CHECK(std::isnan(to_float(bf16(bits_float(0x7F800001)))));
  CHECK(std::isnan(to_float(bf16(bits_float(0xFFFFFFFF)))));
  CHECK(std::isnan(to_float(f16(bits_float(0x7F800001)))));
  CHECK(to_float(f16(65519.99f)) == 65504.0f);
  CHECK(to_float(f16(65520.0f)) == INFINITY);
  CHECK(to_float(f16(-65520.0f)) == -INFINITY);
  CHECK(to_float(f16(2049.0f)) == 2048.0f);
  CHECK(to_float(f16(2051.0f)) == 2052.0f);
  CHECK(f16(0x1p-25f).bits == 0);
  CHECK(f16(-0x1p-25f).bits == 0x8000);
  CHECK(to_float(f16(0x1.000002p-25f)) == 0x1p-24f);
}

template <class Half>
void round_trip_all() {
  for (std::uint32_t pattern = 0; pattern < 65536; ++pattern) {
    Half x;
    x.bits = static_cast<std::uint16_t>(pattern);
    const float wide = to_float(x);
    const Half back(wide);
    if (std::isnan(wide)) {
      REQUIRE(std::isnan(to_float(back)));
      REQUIRE((back.bits & 0x8000) == (pattern & 0x8000));
    } else {
      REQUIRE(back.bits == pattern);
    }
  }
}

TEST_CASE("BF16-CVT: all 65,536 patterns round-trip") {
  round_trip_all<bf16>();
  round_trip_all<f16>();
}

TEST_CASE("every fp16 pattern means what _Float16 says") {
  for (std::uint32_t pattern = 0; pattern < 65536; ++pattern) {
    f16 x;
    x.bits = static_cast<std::uint16_t>(pattern);
    const auto reference = static_cast<float>(std::bit_cast<_Float16>(x.bits));
    if (std::isnan(reference)) {
      REQUIRE(std::isnan(to_float(x)));
    } else {
      REQUIRE(float_bits(to_float(x)) == float_bits(reference));
    }
  }
}

// Floats that matter to rounding: around every value of the narrow type and every midpoint, and
// random bits.
template <class F>
void for_each_hard_float(F f) {
  for (std::uint32_t pattern = 0; pattern < 65536; ++pattern)
    for (std::uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      f(bits_float(pattern << 16 | low));  // bf16 values and midpoints
  for (std::uint32_t pattern = 0; pattern < 65536; ++pattern)
    for (std::int32_t nudge : {-1, 0, 1}) {
      f16 x;
      x.bits = static_cast<std::uint16_t>(pattern);
      const float value = to_float(x);
      f16 y;
      y.bits = static_cast<std::uint16_t>(pattern + 1);
      const float middle = (value + to_float(y)) / 2;
      f(bits_float(float_bits(value) + static_cast<std::uint32_t>(nudge)));
      f(bits_float(float_bits(middle) + static_cast<std::uint32_t>(nudge)));
    }
  for (std::uint64_t i = 0; i < 500000; ++i)
    f(bits_float(static_cast<std::uint32_t>(random_bits(3, i))));
}

TEST_CASE("fp16 rounds as _Float16 does, everywhere it is hard") {
  std::int64_t wrong = 0;
  for_each_hard_float([&](float x) {
    const auto reference = std::bit_cast<std::uint16_t>(static_cast<_Float16>(x));
    const bool agrees = std::isnan(x) ? std::isnan(to_float(f16(x))) : f16(x).bits == reference;
    if (!agrees) ++wrong;
  });
  CHECK(wrong == 0);
}

TEST_CASE("bf16 and fp16 round to the nearest, ties to even, by exact arithmetic") {
  std::int64_t wrong = 0;
  for_each_hard_float([&](float x) {
    if (std::isnan(x)) {
      if (!std::isnan(to_float(bf16(x)))) ++wrong;
      return;
    }
    double wide = slow_round(x, 8, -126), narrow = slow_round(x, 11, -14);
    if (std::abs(wide) > 0x1.fep127) wide = std::copysign(INFINITY, wide);
    if (std::abs(narrow) > 65504) narrow = std::copysign(INFINITY, narrow);
    if (to_float(bf16(x)) != wide || std::signbit(to_float(bf16(x))) != std::signbit(x)) ++wrong;
    if (to_float(f16(x)) != narrow || std::signbit(to_float(f16(x))) != std::signbit(x)) ++wrong;
  });
  CHECK(wrong == 0);
}

TEST_CASE("copies between types round once") {
  const Values numbers = {0, -0.5, 1.00390625, 65519.99, 65520, 3e38, -1e-9, 1e300, NAN};
  const Tensor wide = tensor_of(numbers, {9});
  for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Values narrow = to_doubles(converted(wide, dtype));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto x = static_cast<float>(numbers[i]);
      const float want = dtype == DType::f32    ? x
                         : dtype == DType::bf16 ? to_float(bf16(x))
                                                : to_float(f16(x));
      INFO(name_of(dtype) << " of " << numbers[i]);
      CHECK((std::isnan(want) ? std::isnan(narrow[i]) : narrow[i] == want));
    }
  }
  CHECK(contains(error_of([&] { converted(wide, DType::i32); }), "int32"));
}

TEST_CASE("types know their sizes and names") {
  CHECK(size_of(DType::f64) == sizeof(double));
  CHECK(size_of(DType::f32) == sizeof(float));
  CHECK(size_of(DType::i32) == sizeof(std::int32_t));
  CHECK(size_of(DType::bf16) == 2);
  CHECK(size_of(DType::f16) == 2);
  CHECK(name_of(DType::bf16) == "bf16");
  CHECK(name_of(DType::f32) == "fp32");
}

}  // namespace
}  // namespace skep::testing
