#pragma once
// Element types and the conversions between them. bf16 and f16 are storage types: arithmetic is
// done in float (Compute<T>), rounding to nearest even happens once, on the store.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/hd.h"

namespace skep {

enum class DType { f32, bf16, f16, f64, i32 };

HD inline std::uint32_t float_bits(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  return std::bit_cast<std::uint32_t>(x);
#endif
}
HD inline float bits_float(std::uint32_t u) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(u);
#else
  return std::bit_cast<float>(u);
#endif
}

/// Upper half of a float, rounded to nearest even; NaN stays NaN (its quiet bit is set).
struct bf16 {
  std::uint16_t bits;
  bf16() = default;
  HD explicit bf16(float x) {
    const std::uint32_t u = float_bits(x);
    const std::uint32_t rounded = u + 0x7fff + ((u >> 16) & 1), quiet = u | 0x400000;
    bits = static_cast<std::uint16_t>(((u & 0x7fffffff) > 0x7f800000 ? quiet : rounded) >> 16);
  }
  HD explicit operator float() const { return bits_float(static_cast<std::uint32_t>(bits) << 16); }
  HD explicit operator double() const { return static_cast<float>(*this); }
};

/// IEEE 754 binary16, rounded to nearest even with subnormals; overflow becomes infinity.
struct f16 {
  std::uint16_t bits;
  f16() = default;
  HD explicit f16(float x) {
    const std::uint32_t u = float_bits(x), sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
    std::uint32_t h;
    if (a > 0x7f800000) {
      h = 0x7e00 | ((a >> 13) & 0x3ff);  // NaN keeps its leading payload, quiet
    } else if (a >= 0x477ff000) {
      h = 0x7c00;  // 65520 and above round to infinity
    } else if (a < 0x38800000) {
      // Subnormal half: adding 0.5 puts the wanted bits, correctly rounded, into the low mantissa.
      h = float_bits(bits_float(a) + 0.5f) - 0x3f000000;
    } else {
      h = (a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13;
    }
    bits = static_cast<std::uint16_t>(sign | h);
  }
  HD explicit operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16, h = bits & 0x7fff;
    if (h >= 0x7c00) return bits_float(sign | 0x7f800000 | ((h & 0x3ff) << 13));
    if (h < 0x400) {  // subnormal or zero: an exact product
      const float x = static_cast<float>(h) * 0x1p-24f;
      return (bits & 0x8000) ? -x : x;
    }
    return bits_float(sign | ((h << 13) + 0x38000000));
  }
  HD explicit operator double() const { return static_cast<float>(*this); }
};

/// Type in which elements of T are computed: double for double, float for all narrower ones.
template <class T>
struct ComputeOf {
  using type = float;
};
template <>
struct ComputeOf<double> {
  using type = double;
};
template <class T>
using Compute = typename ComputeOf<T>::type;

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<f16> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};

inline std::size_t size_of(DType t) {
  switch (t) {
    case DType::f64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
  }
  return 0;
}
inline std::string_view name_of(DType t) {
  switch (t) {
    case DType::f32:
      return "fp32";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "fp16";
    case DType::f64:
      return "fp64";
    case DType::i32:
      return "int32";
  }
  return "?";
}
inline bool is_float(DType t) { return t != DType::i32; }

/// Calls f(T{}) with the C++ type of a floating dtype: `with_float(dtype, [&](auto t) {...})`.
template <class F>
decltype(auto) with_float(DType t, F&& f) {
  switch (t) {
    case DType::f32:
      return f(float{});
    case DType::bf16:
      return f(bf16{});
    case DType::f16:
      return f(f16{});
    case DType::f64:
      return f(double{});
    default:
      break;
  }
  fail(ErrorKind::bug, "a floating type is needed here, not {}", name_of(t));
}

/// The type in which elements of dtype `t` are computed.
inline DType compute_type(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

/// As with_float for a wide and a narrow type: f(Wide{}, Narrow{}). The types are equal, or fp32
/// beside bf16 or fp16, as mixed precision has them.
template <class F>
decltype(auto) with_wide_and_narrow(DType wide, DType narrow, F&& f) {
  if (wide == narrow) return with_float(wide, [&](auto zero) { return f(zero, zero); });
  check(wide == DType::f32 && (narrow == DType::bf16 || narrow == DType::f16),
        "{} does not go with {}", name_of(wide), name_of(narrow));
  return narrow == DType::bf16 ? f(float{}, bf16{}) : f(float{}, f16{});
}

}  // namespace skep
