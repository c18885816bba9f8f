// What averaging in groups does to values that differ between ranks: the mean stays, the variance
// shrinks as theory says. Groups only, no plans: the arithmetic of plans is tested elsewhere.
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>

#include "mpi_comm/splitmix64.h"
#include "mpi_comm/topology.h"

using namespace skep;
using Catch::Matchers::Contains;

namespace {

using Values = std::vector<double>;
using Clusters = std::vector<std::vector<int>>;

double mean(const Values& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance(const Values& values) {
  const double center = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - center) * (value - center);
  return sum / static_cast<double>(values.size() - 1);
}

// One step: everybody takes the mean of its group.
void mix(const Topology& topology, long step, Values& values) {
  const Place at{.rank = 0, .size = static_cast<int>(values.size()), .seed = 11, .step = step};
  for (const auto& group : topology.groups(at)) {
    double sum = 0;
    for (const int rank : group) sum += values[static_cast<std::size_t>(rank)];
    for (const int rank : group)
      values[static_cast<std::size_t>(rank)] = sum / static_cast<double>(group.size());
  }
}

// Mean and standard error of independent samples.
struct Estimate {
  double mean, error;
};
Estimate estimate(const Values& samples) {
  return {mean(samples), std::sqrt(variance(samples) / static_cast<double>(samples.size()))};
}

Values unequal(int ranks) {
  Values values;
  for (int rank = 0; rank < ranks; ++rank) values.push_back(rank * rank - 5.3 * rank);
  return values;
}

struct Contraction {
  int ranks, cluster_size;
  double rho;  // (K-1)/(N-1) for K clusters
};
const std::vector<Contraction> contractions{{8, 4, 1.0 / 7}, {16, 4, 3.0 / 15}, {5, 4, 1.0 / 4},
                                            {7, 4, 1.0 / 6}, {9, 3, 2.0 / 8},   {6, 1, 1.0}};

}  // namespace

TEST_CASE("mixing: splitmix64 gives its published numbers", "[mixing]") {
  // The first five of state 1234567, as in the reference implementation.
  CHECK(splitmix64(1234567, 0) == 6457827717110365317ull);
  CHECK(splitmix64(1234567, 1) == 3203168211198807973ull);
  CHECK(splitmix64(1234567, 2) == 9817491932198370423ull);
  CHECK(splitmix64(1234567, 3) == 4593380528125082431ull);
  CHECK(splitmix64(1234567, 4) == 16408922859458223821ull);
}

TEST_CASE("mixing: random clusters are those of an independent implementation", "[mixing]") {
  // Drawn by a Python script from the definition: lots splitmix64(splitmix64(seed, step), rank).
  const auto clusters = make_topology("random_clusters"),
             pairs = make_topology("random_clusters", {.cluster_size = 2});
  CHECK(clusters->groups({.size = 8, .seed = 42, .step = 3}) ==
        Clusters{{0, 1, 2, 6}, {3, 4, 5, 7}});
  CHECK(clusters->groups({.size = 8, .seed = 42, .step = 4}) ==
        Clusters{{0, 1, 3, 6}, {2, 4, 5, 7}});
  CHECK(clusters->groups({.size = 5, .seed = 42, .step = 3}) == Clusters{{0, 1, 2}, {3, 4}});
  CHECK(pairs->groups({.size = 7, .seed = 0, .step = 0}) == Clusters{{2, 5}, {0, 3}, {1, 6}, {4}});
}

TEST_CASE("mixing: any pair of ranks is equally often together", "[mixing]") {
  // 8 ranks in clusters of 4: the chance is 3/7.
  const auto topology = make_topology("random_clusters");
  const int steps = 20000;
  std::vector<std::vector<int>> together(8, std::vector<int>(8));
  for (long step = 0; step < steps; ++step)
    for (const auto& cluster : topology->groups({.size = 8, .seed = 1, .step = step}))
      for (const int a : cluster)
        for (const int b : cluster)
          ++together[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  const double chance = 3.0 / 7, error = std::sqrt(chance * (1 - chance) / steps);
  for (std::size_t a = 0; a < 8; ++a)
    for (std::size_t b = 0; b < a; ++b)
      CHECK(std::abs(together[a][b] / static_cast<double>(steps) - chance) < 4.5 * error);
}

TEST_CASE("mixing: the mean over all ranks never changes", "[mixing]") {
  for (const std::string& name : topology_names())
    for (const int ranks : {1, 2, 3, 5, 7, 8, 12, 13}) {
      CAPTURE(name, ranks);
      const auto topology = make_topology(name);
      Values values = unequal(ranks);
      const double before = mean(values);
      for (long step = 0; step < 10; ++step) {
        mix(*topology, step, values);
        CHECK(mean(values) == Approx(before).epsilon(1e-13).margin(1e-12));
      }
    }
}

TEST_CASE("mixing: random clusters shrink the variance to (K-1)/(N-1)", "[mixing]") {
  for (const auto& [ranks, cluster_size, rho] : contractions) {
    CAPTURE(ranks, cluster_size);
    const auto topology = make_topology("random_clusters", {.cluster_size = cluster_size});
    const Values before = unequal(ranks);
    Values ratios;
    for (long step = 0; step < 20000; ++step) {
      Values values = before;
      mix(*topology, step, values);
      ratios.push_back(variance(values) / variance(before));
    }
    const auto [ratio, error] = estimate(ratios);
    CHECK(error < 0.003);
    CHECK(std::abs(ratio - rho) <= 4 * error + 1e-12);
  }
}

TEST_CASE("mixing: under noise the variance settles at rho s^2 / (1 - rho)", "[mixing]") {
  const double sigma = 0.5;
  for (const auto& [ranks, cluster_size, rho] : contractions) {
    if (rho == 1) continue;  // alone: the variance grows for ever
    CAPTURE(ranks, cluster_size);
    const auto topology = make_topology("random_clusters", {.cluster_size = cluster_size});
    std::mt19937_64 generator(3);
    std::normal_distribution<double> noise(0, sigma);
    Values values(static_cast<std::size_t>(ranks)), batches;
    long step = 0;
    // Means over 100 steps, far longer than the memory of the process: independent samples.
    for (int batch = -1; batch < 400; ++batch) {
      double sum = 0;
      for (int i = 0; i < 100; ++i, ++step) {
        for (double& value : values) value += noise(generator);
        mix(*topology, step, values);
        sum += variance(values);
      }
      if (batch >= 0) batches.push_back(sum / 100);  // the first is on the way there
    }
    const auto [settled, error] = estimate(batches);
    const double expected = rho * sigma * sigma / (1 - rho);
    CHECK(error < 0.03 * expected);
    CHECK(std::abs(settled - expected) < 4 * error);
  }
}

TEST_CASE("mixing: a grid is exact after rows and columns", "[mixing]") {
  for (const int ranks : {1, 4, 6, 8, 9, 12, 14, 36}) {
    CAPTURE(ranks);
    const auto grid = make_topology("grid");
    for (const long first : {0, 1}) {
      Values values = unequal(ranks);
      const double exact = mean(values);
      mix(*grid, first, values);
      if (ranks > 1) CHECK(variance(values) > 1e-3);
      mix(*grid, first + 1, values);
      for (const double value : values) CHECK(value == Approx(exact).epsilon(1e-13).margin(1e-12));
    }
  }
  CHECK(make_topology("grid")->groups({.size = 6}) == Clusters{{0, 1, 2}, {3, 4, 5}});
  CHECK(make_topology("grid")->groups({.size = 6, .step = 1}) == Clusters{{0, 3}, {1, 4}, {2, 5}});
}

TEST_CASE("mixing: a prime number of ranks makes no grid, and it says so", "[mixing]") {
  const auto grid = make_topology("grid");
  for (const auto& [ranks, size] :
       std::vector<std::pair<int, int>>{{2, 2}, {3, 2}, {5, 3}, {7, 3}, {13, 4}, {17, 5}}) {
    CAPTURE(ranks);
    const auto clusters = make_topology("random_clusters", {.cluster_size = size});
    for (long step = 0; step < 4; ++step) {
      const Place at{.size = ranks, .seed = 9, .step = step};
      CHECK(grid->groups(at) == clusters->groups(at));
    }
    CHECK_THAT(grid->note(ranks), Contains("prime") && Contains(std::to_string(size)));
  }
  CHECK(grid->note(12) == "3 x 4 ranks");
}

TEST_CASE("mixing: exponential pairs are exact in log2 N steps", "[mixing]") {
  const auto topology = make_topology("exponential");
  for (const int bits : {0, 1, 2, 3, 4, 5}) {
    Values values = unequal(1 << bits);
    CAPTURE(bits);
    const double exact = mean(values);
    for (long step = 5; step < 5 + bits; ++step) {
      CHECK(variance(values) > 1e-3);
      mix(*topology, step, values);
    }
    for (const double value : values) CHECK(value == Approx(exact).epsilon(1e-13).margin(1e-12));
  }
  // 6 ranks, the third step: partners differ by 4; those of 2 and 3 do not exist.
  CHECK(topology->groups({.size = 6, .step = 2}) == Clusters{{0, 4}, {1, 5}, {2}, {3}});
  CHECK(topology->groups({.size = 6, .step = 3}) == Clusters{{0, 1}, {2, 3}, {4, 5}});
}

TEST_CASE("mixing: every rank draws the same clusters, whatever it drew before", "[mixing]") {
  // RANK-ORDER: rank r has drawn r dropout numbers and asked r times about other steps.
  const auto wanted = make_topology("random_clusters")->groups({.size = 5, .seed = 6, .step = 77});
  for (int rank = 0; rank < 5; ++rank) {
    const auto topology = make_topology("random_clusters");
    std::mt19937 dropout;
    dropout.discard(static_cast<unsigned long long>(rank));
    for (int i = 0; i < rank; ++i)
      topology->groups({.rank = rank, .size = 5, .seed = dropout(), .step = i});
    CHECK(topology->groups({.rank = rank, .size = 5, .seed = 6, .step = 77}) == wanted);
  }
}

TEST_CASE("mixing: reach says whether everybody meets at every step", "[mixing]") {
  const auto global = [](const char* name, int ranks, int cluster_size = 4) {
    return make_topology(name, {.cluster_size = cluster_size})->reach(ranks) == Reach::global;
  };
  for (const char* name : {"ring", "tree", "full_mesh", "halving_doubling", "hierarchical"})
    for (const int ranks : {1, 2, 5, 16}) CHECK(global(name, ranks));
  CHECK(global("random_clusters", 4));
  CHECK_FALSE(global("random_clusters", 5));
  CHECK(global("random_clusters", 5, 5));
  CHECK_FALSE(global("random_clusters", 2, 1));
  CHECK(global("grid", 1));
  CHECK(global("grid", 2));  // a prime: one cluster of 2
  CHECK_FALSE(global("grid", 3));
  CHECK_FALSE(global("grid", 4));
  CHECK(global("exponential", 1));
  CHECK(global("exponential", 2));
  CHECK_FALSE(global("exponential", 3));
}
