// Rounds and elements sent by an all_reduce: what the cost table promises.
#include <bit>
#include <catch2/catch.hpp>
#include <map>

#include "mpi_comm/topology.h"

using namespace skep;

namespace {

std::size_t sent(const Topology& topology, int rank, int ranks, std::size_t count) {
  return topology.all_reduce({.rank = rank, .size = ranks}, count).elements_sent();
}

std::size_t rounds(const Topology& topology, int ranks) {
  return topology.all_reduce({.rank = 0, .size = ranks}, 1000).rounds.size();
}

// Elements to each peer.
std::map<int, std::size_t> sent_to(const Topology& topology, const Place& at, std::size_t count) {
  std::map<int, std::size_t> elements;
  for (const Round& round : topology.all_reduce(at, count).rounds)
    for (const auto& [peer, range] : round.sends) elements[peer] += range.size();
  return elements;
}

}  // namespace

TEST_CASE("costs: ring, full mesh and hierarchical send 2m(N-1)/N per rank", "[costs]") {
  const auto ring = make_topology("ring"), mesh = make_topology("full_mesh"),
             uneven = make_topology("hierarchical",
                                    {.hosts = {0, 1, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4}});
  for (int n = 1; n <= 17; ++n) {
    const auto p = static_cast<std::size_t>(n);
    const std::size_t count = 60 * p;  // divisible: every part has 60 elements
    for (int rank = 0; rank < n; ++rank) {
      CAPTURE(n, rank);
      CHECK(sent(*ring, rank, n, count) == 2 * (p - 1) * 60);
      CHECK(sent(*mesh, rank, n, count) == 2 * (p - 1) * 60);
      // Shares are unequal there, but what is sent is in total what the ring sends.
      const std::size_t scattered =
          uneven->reduce_scatter({.rank = rank, .size = n}, count).elements_sent();
      CHECK(scattered == (p - 1) * 60);
    }
  }
}

TEST_CASE("costs: the tree's n - 1 edges carry everything once up and once down", "[costs]") {
  const auto tree = make_topology("tree");
  for (int n = 1; n <= 17; ++n) {
    CAPTURE(n);
    const auto p = static_cast<std::size_t>(n);
    std::size_t total = 0, levels = 0;
    for (int rank = 0; rank < n; ++rank) total += sent(*tree, rank, n, 600);
    while ((std::size_t{1} << levels) < p) ++levels;
    CHECK(total == 2 * (p - 1) * 600);
    CHECK(sent(*tree, 0, n, 600) == levels * 600);
  }
}

TEST_CASE("costs: halving and doubling", "[costs]") {
  const auto topology = make_topology("halving_doubling");
  const std::size_t m = 1 << 10;
  for (const int n : {2, 4, 8, 16, 32})
    for (int rank = 0; rank < n; ++rank)
      CHECK(sent(*topology, rank, n, m) ==
            2 * m * (static_cast<std::size_t>(n) - 1) / static_cast<std::size_t>(n));
  // 7 ranks: a core of 4, three pairs. The second of a pair hands in m; the first hands out m more.
  for (const int rank : {1, 3, 5}) CHECK(sent(*topology, rank, 7, m) == m);
  for (const int rank : {0, 2, 4}) CHECK(sent(*topology, rank, 7, m) == m + 2 * m * 3 / 4);
  CHECK(sent(*topology, 6, 7, m) == 2 * m * 3 / 4);
  CHECK(rounds(*topology, 8) == 6);
  CHECK(rounds(*topology, 7) == 4 + 2);
  CHECK(rounds(*topology, 64) == 12);
}

TEST_CASE("costs: hierarchical sends little between hosts", "[costs]") {
  // 4 ranks on each of 3 hosts, m = 1200: blocks of 100.
  std::vector<int> hosts;
  for (int rank = 0; rank < 12; ++rank) hosts.push_back(rank / 4);
  const auto topology = make_topology("hierarchical", {.hosts = hosts});
  for (int rank = 0; rank < 12; ++rank) {
    const auto elements = sent_to(*topology, {.rank = rank, .size = 12}, 1200);
    std::size_t inside = 0, outside = 0;
    for (const auto& [peer, count] : elements)
      (hosts[static_cast<std::size_t>(peer)] == rank / 4 ? inside : outside) += count;
    CHECK(inside == 2 * 1200 * 3 / 4);         // 2m(L-1)/L
    CHECK(outside == 2 * 1200 * 2 / (3 * 4));  // 2m(H-1)/(HL)
    CHECK(elements.size() == 3 + 2);           // the others of the host, its like on the others
  }
  CHECK(rounds(*topology, 12) == 4);
  CHECK(rounds(*make_topology("hierarchical"), 12) == 2);
}

TEST_CASE("costs: partial topologies send 2m(s-1)/s within groups of s", "[costs]") {
  const auto clusters = make_topology("random_clusters"), grid = make_topology("grid"),
             exponential = make_topology("exponential");
  for (long step = 0; step < 6; ++step)
    for (int rank = 0; rank < 12; ++rank) {
      const Place at{.rank = rank, .size = 12, .seed = 5, .step = step};
      const auto elements = [&](const Topology& topology) {
        const Plan plan = topology.all_reduce(at, 1200);
        CHECK(plan.rounds.size() <= 2);
        return plan.elements_sent();
      };
      CHECK(elements(*clusters) == 2 * 1200 * 3 / 4);  // 3 clusters of 4
      CHECK(elements(*grid) == (step % 2 == 0 ? 2 * 1200 * 3 / 4 : 2 * 1200 * 2 / 3));  // 3 x 4
      // 8 to 11 miss their partners at distance 4, 4 to 7 at distance 8.
      const bool alone = step % 4 == 2 ? rank >= 8 : step % 4 == 3 && rank >= 4 && rank < 8;
      CHECK(elements(*exponential) == (alone ? 0 : 1200));
    }
}

TEST_CASE("costs: rounds per all_reduce", "[costs]") {
  const auto of = [](const char* name, int ranks) { return rounds(*make_topology(name), ranks); };
  CHECK(of("ring", 8) == 14);
  CHECK(of("full_mesh", 8) == 2);
  CHECK(of("full_mesh", 17) == 2);
  CHECK(of("full_mesh", 18) == 4);
  CHECK(of("tree", 8) == 6);
  CHECK(of("tree", 9) == 8);
  CHECK(of("ring", 1) == 0);
}
