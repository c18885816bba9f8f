// The arithmetic of reductions, on values worked out by hand.
#include "mpi_comm/combine.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "mpi_comm/comm_error.h"

using namespace skep;

TEMPLATE_TEST_CASE("combine: sum, max and min of every type", "[combine]", float, double,
                   std::int32_t, std::int64_t, std::uint8_t) {
  const std::vector<TestType> from{4, 0, 7};
  std::vector<TestType> sum{1, 2, 3}, max{1, 2, 3}, min{1, 2, 3};
  combine(Combine::sum, sum, from);
  combine(Combine::max, max, from);
  combine(Combine::min, min, from);
  CHECK(sum == std::vector<TestType>{5, 2, 10});
  CHECK(max == std::vector<TestType>{4, 2, 7});
  CHECK(min == std::vector<TestType>{1, 0, 3});
}

TEST_CASE("combine: a NaN on either side survives max and min", "[combine]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Combine how : {Combine::max, Combine::min}) {
    std::vector<float> into{nan, 1};
    const std::vector<float> from{1, nan};
    combine(how, into, from);
    CHECK(std::isnan(into[0]));
    CHECK(std::isnan(into[1]));
  }
}

TEST_CASE("combine: refuses views that do not fit", "[combine]") {
  std::vector<float> two(2);
  const std::vector<float> three(3);
  const std::vector<std::int32_t> other_type(2);
  CHECK_THROWS_AS(combine(Combine::sum, two, three), CommError);
  CHECK_THROWS_AS(combine(Combine::sum, two, other_type), CommError);
}
