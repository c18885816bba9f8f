// The vectorised float functions against libm in double, over dense sweeps and at the ends.
#include <catch2/catch.hpp>

#include "engine/kernels/math.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

// The worst relative error of f against g over floats spaced evenly in [low, high].
template <class F, class G>
double worst_relative(float low, float high, F f, G g) {
  constexpr int steps = 2000000;
  double worst = 0;
  for (int i = 0; i <= steps; ++i) {
    const float x = low + (high - low) * (static_cast<float>(i) / steps);
    const double want = g(static_cast<double>(x)), got = f(x);
    const double error = std::abs(got - want) / std::abs(want);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

float exp_of(float x) { return math::exp(x); }
float sigmoid_of(float x) { return math::sigmoid(x); }
float tanh_of(float x) { return math::tanh(x); }
double exact_exp(double x) { return std::exp(x); }
double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double exact_tanh(double x) { return std::tanh(x); }

TEST_CASE("exp: relative error below 2e-7 in the normal range") {
  CHECK(worst_relative(-87.0f, 88.7f, exp_of, exact_exp) < 2e-7);
  CHECK(worst_relative(-1.0f, 1.0f, exp_of, exact_exp) < 2e-7);
  CHECK(worst_relative(-1e-3f, 1e-3f, exp_of, exact_exp) < 2e-7);
}

TEST_CASE("exp: the ends") {
  CHECK(math::exp(0.0f) == 1.0f);
  CHECK(math::exp(-0.0f) == 1.0f);
  CHECK(math::exp(-INFINITY) == 0.0f);
  CHECK(math::exp(INFINITY) == INFINITY);
  CHECK(math::exp(-88.0f) == 0.0f);
  CHECK(math::exp(-1e30f) == 0.0f);
  CHECK(math::exp(88.72284f) == INFINITY);
  CHECK(math::exp(1e30f) == INFINITY);
  CHECK(std::isfinite(math::exp(88.7228f)));
  CHECK(std::isnan(math::exp(NAN)));
  CHECK(std::isnan(math::exp(-std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("sigmoid: relative error below 4e-7, and sane at the ends") {
  CHECK(worst_relative(-59.0f, 59.0f, sigmoid_of, exact_sigmoid) < 4e-7);
  CHECK(math::sigmoid(0.0f) == 0.5f);
  CHECK(math::sigmoid(INFINITY) == 1.0f);
  CHECK(math::sigmoid(100.0f) == 1.0f);
  CHECK(math::sigmoid(-INFINITY) < 1e-25f);
  CHECK(math::sigmoid(-INFINITY) >= 0.0f);
  CHECK(std::isnan(math::sigmoid(NAN)));
  CHECK(math::sigmoid(-INFINITY * 1.0) == 0.0);
}

TEST_CASE("tanh: relative error below 4e-7, near zero too") {
  CHECK(worst_relative(0.7f, 12.0f, tanh_of, exact_tanh) < 4e-7);
  CHECK(worst_relative(0.01f, 0.7f, tanh_of, exact_tanh) < 4e-7);
  CHECK(worst_relative(1e-6f, 0.01f, tanh_of, exact_tanh) < 4e-7);
  CHECK(worst_relative(-0.7f, -1e-6f, tanh_of, exact_tanh) < 4e-7);
  CHECK(math::tanh(0.0f) == 0.0f);
  CHECK(math::tanh(INFINITY) == 1.0f);
  CHECK(math::tanh(-INFINITY) == -1.0f);
  CHECK(std::isnan(math::tanh(NAN)));
  CHECK(math::tanh(1e-30f) == 1e-30f);
}

TEST_CASE("the double forms are libm's") {
  for (double x : {-700.0, -1.5, 0.0, 1e-9, 3.25, 700.0}) CHECK(math::exp(x) == std::exp(x));
  for (double x : {-3.0, 0.0, 1e-9, 2.5}) CHECK(math::tanh(x) == std::tanh(x));
  CHECK(math::sigmoid(1.0) == Approx(0.731058578630004879).epsilon(1e-15));
}

}  // namespace
}  // namespace skep::testing
