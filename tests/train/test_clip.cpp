#include <catch2/catch.hpp>
#include <cmath>

#include "engine/optim/optimizer.h"
#include "train/clip.h"

using namespace skep;

namespace {

std::vector<double> clipped(const std::vector<float>& gradient, double max_norm, double count = 1) {
  const Tensor t = tensor_of(gradient, {static_cast<std::int64_t>(gradient.size())});
  const Clip clip(t, count, max_norm);
  std::vector<double> out;
  for (float g : gradient) out.push_back(static_cast<float>(clip.factor().item()) * g);
  return out;
}

}  // namespace

TEST_CASE("CLIP: clipping scales to the maximal norm and is safe at the ends of the range") {
  const auto huge = clipped({3e19f, 4e19f}, 1);  // the squares overflow in fp32
  CHECK(huge[0] == Approx(0.6));
  CHECK(huge[1] == Approx(0.8));
  const auto tiny = clipped({3e-30f, 4e-30f}, 1e-30);  // the squares vanish in fp32
  CHECK(tiny[0] == Approx(0.6e-30));
  CHECK(clipped({3, 4}, INFINITY) == std::vector<double>{3, 4});
  CHECK(clipped({3, 4}, 5.5) == std::vector<double>{3, 4});
  CHECK(clipped({0, 0}, 1) == std::vector<double>{0, 0});
}

TEST_CASE("the norm is that of the mean over tokens") {
  Clip clip(tensor_of(std::vector<float>{30, 40}, {2}), 10, 1);
  CHECK(clip.norm() == Approx(5));
  CHECK(clip.factor().item() == Approx(0.02));
}

TEST_CASE("CLIP: a maximal norm that is no positive number is refused") {
  const Tensor t = tensor_of(std::vector<float>{1}, {1});
  for (double bad : {-1.0, 0.0, std::nan("")}) CHECK_THROWS_AS(Clip(t, 1, bad), Error);
}

TEST_CASE(
    "CLIP: an element that is not finite is seen, and nothing is to be taken of the gradient") {
  for (const auto& [second, max_norm] : {std::pair{INFINITY, 1.0F}, {NAN, INFINITY}, {NAN, 1.0F}}) {
    Clip clip(tensor_of(std::vector<float>{1, second}, {2}), 1, max_norm);
    CHECK_FALSE(clip.finite());
    CHECK(clip.factor().item() == 0);
  }
  CHECK(Clip(tensor_of(std::vector<float>{3e38f, 3e38f}, {2}), 1, 1).finite());
}
