// Prices against the closed forms of the textbooks, at powers of two; fits against known costs.
#include "mpi_comm/cost_model.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "mpi_comm/collective.h"
#include "mpi_comm/comm_error.h"

using namespace skep;

namespace {

constexpr LinkCosts costs{2e-6, 3e-10, 1e-10};
constexpr std::size_t count = 1 << 16;  // divides among all sizes below; one segment of the tree
constexpr double m = 4.0 * count;       // bytes

double price_all_reduce(const std::string& name, int n) {
  return price(plans_of_all(*make_topology(name), Collective::all_reduce, {.size = n}, count), 4,
               costs);
}

}  // namespace

TEST_CASE("cost model: ring, mesh and tree cost what their closed forms say", "[cost]") {
  const auto [alpha, beta, gamma] = costs;
  for (const int n : {1, 2, 4, 8, 16}) {
    CAPTURE(n);
    const double r = (n - 1.0) / n, levels = std::log2(n);
    CHECK(price_all_reduce("ring", n) ==
          Approx(2 * (n - 1) * alpha + 2 * r * m * beta + r * m * gamma));
    CHECK(price_all_reduce("full_mesh", n) ==
          Approx((n > 1 ? 2 : 0) * alpha + 2 * r * m * beta + r * m * gamma));
    CHECK(price_all_reduce("tree", n) ==
          Approx(2 * levels * (alpha + m * beta) + levels * m * gamma));
  }
}

TEST_CASE("cost model: a round is as slow as its slowest rank, a port works both ways", "[cost]") {
  std::vector<Plan> plans(2);
  plans[0].rounds.resize(2);
  plans[1].rounds.resize(1);
  plans[0].rounds[0] = {OnArrival::combine, {{1, {0, 10}}}, {{1, {0, 30}}}};
  plans[0].rounds[1] = {OnArrival::copy, {{1, {0, 5}}}, {}};
  plans[1].rounds[0] = {OnArrival::copy, {{0, {0, 30}}}, {{0, {0, 10}}}};
  const std::vector<double> rounds = price_rounds(plans, 8, {1, 10, 100});
  REQUIRE(rounds.size() == 2);
  CHECK(rounds[0] == 1 + 10 * 8 * 30 + 100 * 8 * 30);
  CHECK(rounds[1] == 1 + 10 * 8 * 5);
  CHECK(price(plans, 8, {1, 10, 100}) == rounds[0] + rounds[1]);
}

TEST_CASE("cost model: every topology and collective has a price, more for more bytes", "[cost]") {
  for (const std::string& name : topology_names())
    for (const Collective collective : all_collectives()) {
      CAPTURE(name, name_of(collective));
      const auto topology = make_topology(name);
      const auto price_of = [&](std::size_t elements) {
        return price(plans_of_all(*topology, collective, {.size = 8}, elements), 4, costs);
      };
      CHECK(price_of(1024) > costs.alpha_seconds);
      CHECK(price_of(1 << 20) > 2 * price_of(1024));
    }
}

TEST_CASE("cost model: a fit finds the costs that made the samples", "[cost]") {
  std::vector<CostSample> samples;
  for (double bytes = 8; bytes < 1e8; bytes *= 7)
    for (const double combined : {0.0, 1.0}) {
      CostSample sample{1 + combined, bytes, combined * bytes, 0};
      sample.seconds = sample.rounds * costs.alpha_seconds +
                       sample.moved_bytes * costs.beta_seconds_per_byte +
                       sample.combined_bytes * costs.gamma_seconds_per_byte;
      samples.push_back(sample);
    }
  const LinkCosts found = fit_costs(samples);
  CHECK(found.alpha_seconds == Approx(costs.alpha_seconds).epsilon(1e-6));
  CHECK(found.beta_seconds_per_byte == Approx(costs.beta_seconds_per_byte).epsilon(1e-6));
  CHECK(found.gamma_seconds_per_byte == Approx(costs.gamma_seconds_per_byte).epsilon(1e-6));
}

TEST_CASE("cost model: a fit never gives a negative cost", "[cost]") {
  // Combining faster than moving alone: noise, not a machine.
  const std::vector<CostSample> samples{{1, 1000, 0, 5e-6}, {1, 1000, 1000, 4e-6}, {1, 8, 0, 2e-6}};
  const LinkCosts found = fit_costs(samples);
  CHECK(found.alpha_seconds > 0);
  CHECK(found.beta_seconds_per_byte > 0);
  CHECK(found.gamma_seconds_per_byte == 0);
}

TEST_CASE("collectives: found by name, an unknown one is refused with the valid ones") {
  for (const Collective collective : all_collectives())
    CHECK(find_collective(name_of(collective)) == collective);
  CHECK_THROWS_WITH(find_collective("allreduce"), Catch::Contains("all_reduce, reduce_scatter"));
}
