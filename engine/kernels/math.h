#pragma once
// Scalar functions that vectorise. libm's expf is a call per element; these are plain arithmetic
// with selects, so a loop over them becomes SIMD. On a GPU the hardware's own functions serve.
// The double forms, used for gradient checks, are libm's.
#include <cmath>

#include "engine/core/dtype.h"

namespace skep::math {

HD inline double exp(double x) { return ::exp(x); }
HD inline double log(double x) { return ::log(x); }
HD inline float log(float x) { return ::logf(x); }
HD inline double sqrt(double x) { return ::sqrt(x); }
HD inline float sqrt(float x) { return ::sqrtf(x); }

/// e^x, error below 2 ulp: x = n ln 2 + r, e^r by a polynomial, 2^n by the exponent field.
/// 0 below -87.3 (no subnormals), infinity above 88.72, NaN stays NaN.
HD inline float exp(float x) {
#ifdef __CUDA_ARCH__
  return ::expf(x);
#else
  constexpr float log2_e = 1.44269504088896341f, ln2_high = 0.693145752f, ln2_low = 1.42860677e-6f;
  constexpr float round_trick = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  // Comparisons, not min/max, and in this order, so that NaN passes through.
  const float low = x < -87.3f ? -87.3f : x, c = low > 88.8f ? 88.8f : low;
  const float shifted = c * log2_e + round_trick, n = shifted - round_trick;
  const float r = (c - n * ln2_high) - n * ln2_low;
  float p = 1.9875691500e-4f;  // Cephes' minimax coefficients
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // 2^n in two factors: n = 128 does not fit one exponent field.
  const std::int32_t whole = static_cast<std::int32_t>(float_bits(shifted)) - 0x4B400000;
  const std::int32_t half = whole >> 1, rest = whole - half;
  const float scale_a = bits_float(static_cast<std::uint32_t>(half + 127) << 23);
  const float scale_b = bits_float(static_cast<std::uint32_t>(rest + 127) << 23);
  const float value = p * scale_a * scale_b;
  return x < -87.3f ? 0.0f : value;
#endif
}

/// 1 / (1 + e^-x); the argument is clamped so that no subnormal appears.
template <class T>
HD inline T sigmoid(T x) {
  const T low = x < T(-60) ? T(-60) : x, c = low > T(60) ? T(60) : low;
  return T(1) / (T(1) + exp(-c));
}
template <>
HD inline double sigmoid(double x) {
  return 1.0 / (1.0 + ::exp(-x));
}

/// tanh x, error below 4 ulp: an odd polynomial near zero, where 2 sigmoid(2x) - 1 cancels.
HD inline float tanh(float x) {
#ifdef __CUDA_ARCH__
  return ::tanhf(x);
#else
  const float z = x * x;
  float p = -5.70498872745e-3f;  // Cephes' minimax coefficients
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near_zero = p * z * x + x, elsewhere = 2.0f * sigmoid(2.0f * x) - 1.0f;
  return z < 0.390625f ? near_zero : elsewhere;
#endif
}
HD inline double tanh(double x) { return ::tanh(x); }

}  // namespace skep::math
