// Every topology, all ranks at once, without MPI: sums exact, replicas bit-identical, bytes as the
// cost table says.
#include "mpi_comm/topology.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/simulator.h"
#include "mpi_comm/topologies/full_mesh.h"
#include "mpi_comm/topologies/ring.h"
#include "mpi_comm/topologies/tree.h"

using namespace skep;
using Catch::Matchers::Contains;

namespace {

template <class T>
using Buffers = std::vector<std::vector<T>>;

// Values that do not add up to something simple by accident.
std::int64_t value(std::size_t rank, std::size_t i) {
  return static_cast<std::int64_t>((rank + 1) * 1000003 + i * i * 7919 + rank * i);
}

Buffers<std::int64_t> integers(int ranks, std::size_t count) {
  Buffers<std::int64_t> buffers(static_cast<std::size_t>(ranks), std::vector<std::int64_t>(count));
  for (std::size_t r = 0; r < buffers.size(); ++r)
    for (std::size_t i = 0; i < count; ++i) buffers[r][i] = value(r, i);
  return buffers;
}

std::vector<std::int64_t> sums(int ranks, std::size_t count) {
  std::vector<std::int64_t> sum(count);
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r)
    for (std::size_t i = 0; i < count; ++i) sum[i] += value(r, i);
  return sum;
}

template <class MakePlan>
std::vector<Plan> plans_of(int ranks, MakePlan make) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < ranks; ++rank)
    plans.push_back(make(Place{.rank = rank, .size = ranks}));
  return plans;
}

// Visits every (ranks, count) of the matrix.
template <class Visit>
void for_all_sizes(Visit visit) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    const auto p = static_cast<std::size_t>(ranks);
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, p - 1, p, p + 1, std::size_t{5},
                                    std::size_t{64}, std::size_t{1001}})
      visit(ranks, count);
  }
}

void check_all_collectives(const Topology& topology) {
  for_all_sizes([&](int ranks, std::size_t count) {
    CAPTURE(topology.name(), ranks, count);
    const auto sum = sums(ranks, count);

    auto reduced = integers(ranks, count);
    const auto reduce = plans_of(ranks, [&](Place at) { return topology.all_reduce(at, count); });
    REQUIRE(simulate(reduce, reduced) == std::vector<std::string>{});
    for (const auto& buffer : reduced) REQUIRE(buffer == sum);

    auto scattered = integers(ranks, count);
    const auto scatter =
        plans_of(ranks, [&](Place at) { return topology.reduce_scatter(at, count); });
    REQUIRE(simulate(scatter, scattered) == std::vector<std::string>{});
    for (int r = 0; r < ranks; ++r) {
      const Range own = part(count, r, ranks);
      for (std::size_t i = own.begin; i < own.end; ++i)
        REQUIRE(scattered[static_cast<std::size_t>(r)][i] == sum[i]);
    }

    std::vector<std::size_t> counts;  // uneven, some of them zero
    for (int r = 0; r < ranks; ++r) counts.push_back(static_cast<std::size_t>(r * 3 % 4) * count);
    const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    Buffers<std::int64_t> gathered(static_cast<std::size_t>(ranks),
                                   std::vector<std::int64_t>(total, -1));
    std::vector<std::int64_t> whole;
    for (std::size_t r = 0; r < counts.size(); ++r)
      for (std::size_t i = 0; i < counts[r]; ++i) {
        gathered[r][whole.size()] = value(r, i);
        whole.push_back(value(r, i));
      }
    const auto gather = plans_of(ranks, [&](Place at) { return topology.all_gather(at, counts); });
    REQUIRE(simulate(gather, gathered) == std::vector<std::string>{});
    for (const auto& buffer : gathered) REQUIRE(buffer == whole);

    for (const int root : {0, ranks / 2, ranks - 1}) {
      auto sent = integers(ranks, count);
      const auto wanted = sent[static_cast<std::size_t>(root)];
      const auto broadcast =
          plans_of(ranks, [&](Place at) { return topology.broadcast(at, root, count); });
      REQUIRE(simulate(broadcast, sent) == std::vector<std::string>{});
      for (const auto& buffer : sent) REQUIRE(buffer == wanted);
    }
  });
}

// Rank r sends 0 to 3 times `unit` elements to rank p, value(r, p) + i the i-th of them.
void check_all_to_all(const Topology& topology) {
  const auto sent = [](int from, int to, std::size_t unit) {
    return static_cast<std::size_t>(from * 3 + to * 2) % 4 * unit;
  };
  for_all_sizes([&](int ranks, std::size_t unit) {
    CAPTURE(topology.name(), ranks, unit);
    std::vector<Plan> plans;
    Buffers<std::int64_t> buffers, wanted;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::size_t> sends, receives;
      std::vector<std::int64_t> out, in;
      for (int peer = 0; peer < ranks; ++peer) {
        const auto r = static_cast<std::size_t>(rank), p = static_cast<std::size_t>(peer);
        sends.push_back(sent(rank, peer, unit));
        receives.push_back(sent(peer, rank, unit));
        for (std::size_t i = 0; i < sends.back(); ++i)
          out.push_back(value(r, p) + static_cast<std::int64_t>(i));
        for (std::size_t i = 0; i < receives.back(); ++i)  // the own block stays with the caller
          in.push_back(peer == rank ? -1 : value(p, r) + static_cast<std::int64_t>(i));
      }
      plans.push_back(topology.all_to_all({.rank = rank, .size = ranks}, sends, receives));
      wanted.push_back(out);
      wanted.back().insert(wanted.back().end(), in.begin(), in.end());
      buffers.push_back(std::move(out));
      buffers.back().resize(wanted.back().size(), -1);
    }
    REQUIRE(simulate(plans, buffers) == std::vector<std::string>{});
    REQUIRE(buffers == wanted);
  });
}

std::size_t sent(const Topology& topology, int rank, int ranks, std::size_t count) {
  return topology.all_reduce({.rank = rank, .size = ranks}, count).elements_sent();
}

}  // namespace

TEST_CASE("topology: every collective is exact at 1 to 17 ranks", "[topology]") {
  for (const std::string& name : topology_names()) check_all_collectives(*make_topology(name));
}

TEST_CASE("topology: all_to_all brings every block where it belongs", "[topology]") {
  for (const std::string& name : topology_names()) check_all_to_all(*make_topology(name));
}

TEST_CASE("topology: more peers than one window of the full mesh", "[topology]") {
  for (const int ranks : {18, 33, 40}) {
    auto buffers = integers(ranks, 101);
    const auto mesh = make_topology("full_mesh");
    const auto plans = plans_of(ranks, [&](Place at) { return mesh->all_reduce(at, 101); });
    REQUIRE(simulate(plans, buffers) == std::vector<std::string>{});
    for (const auto& buffer : buffers) REQUIRE(buffer == sums(ranks, 101));
    for (const Plan& plan : plans)
      for (const Round& round : plan.rounds) REQUIRE(round.sends.size() <= 16);
  }
}

// A topology of partial groups is the algorithm of another one and a rule who is with whom.
template <class Algorithm>
class EvenAndOdd : public Algorithm {
 public:
  std::vector<std::vector<int>> groups(const Place& at) const override {
    std::vector<std::vector<int>> even_and_odd(2);
    for (int rank = at.size - 1; rank >= 0; --rank)
      even_and_odd[static_cast<std::size_t>(rank % 2)].push_back(rank);
    return even_and_odd;
  }
};

TEMPLATE_TEST_CASE("topology: in partial groups each group has its own sum", "[topology]", Ring,
                   Tree, FullMesh) {
  const int ranks = 7;
  const std::size_t count = 23;
  const EvenAndOdd<TestType> topology;
  auto buffers = integers(ranks, count);
  const auto initial = buffers;
  const auto plans = plans_of(ranks, [&](Place at) { return topology.all_reduce(at, count); });
  REQUIRE(simulate(plans, buffers) == std::vector<std::string>{});
  for (std::size_t r = 0; r < buffers.size(); ++r) {
    CHECK(plans[r].participants == (r % 2 == 0 ? 4 : 3));
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t sum = 0;
      for (std::size_t q = r % 2; q < initial.size(); q += 2) sum += initial[q][i];
      REQUIRE(buffers[r][i] == sum);
    }
  }
}

TEST_CASE("topology: a tree in segments is as exact", "[topology]") {
  check_all_collectives(Tree(10));
}

TEST_CASE("topology: replicas are bit-identical although float addition rounds", "[topology]") {
  for (const std::string& name : topology_names())
    for (int ranks = 2; ranks <= 17; ++ranks) {
      CAPTURE(name, ranks);
      const std::size_t count = 1001;
      Buffers<float> buffers(static_cast<std::size_t>(ranks), std::vector<float>(count));
      for (std::size_t r = 0; r < buffers.size(); ++r)
        for (std::size_t i = 0; i < count; ++i)
          buffers[r][i] = 1.0f / static_cast<float>(value(r, i) % 977 + 1);
      const auto topology = make_topology(name);
      const auto plans = plans_of(ranks, [&](Place at) { return topology->all_reduce(at, count); });
      REQUIRE(simulate(plans, buffers) == std::vector<std::string>{});
      for (const auto& buffer : buffers)
        REQUIRE(std::memcmp(buffer.data(), buffers[0].data(), count * sizeof(float)) == 0);
    }
}

TEST_CASE("topology: elements sent per rank equal the closed formulas", "[topology]") {
  const auto ring = make_topology("ring"), mesh = make_topology("full_mesh"),
             tree = make_topology("tree");
  for (int n = 1; n <= 17; ++n) {
    const auto p = static_cast<std::size_t>(n);
    const std::size_t count = 60 * p;  // divisible: every part has 60 elements
    std::size_t total = 0;
    for (int rank = 0; rank < n; ++rank) {
      CAPTURE(n, rank);
      CHECK(sent(*ring, rank, n, count) == 2 * (p - 1) * count / p);
      CHECK(sent(*mesh, rank, n, count) == 2 * (p - 1) * count / p);
      total += sent(*tree, rank, n, count);
    }
    // The tree has n - 1 edges, each carries everything once up and once down, ceil(log2 n) of
    // them at the root.
    std::size_t levels = 0;
    while ((std::size_t{1} << levels) < p) ++levels;
    CHECK(total == 2 * (p - 1) * count);
    CHECK(sent(*tree, 0, n, count) == levels * count);
  }
}

TEST_CASE("topology: rounds per all_reduce equal the cost table", "[topology]") {
  const auto rounds = [](const char* name, int n) {
    return make_topology(name)->all_reduce({.rank = 0, .size = n}, 1000).rounds.size();
  };
  CHECK(rounds("ring", 8) == 14);
  CHECK(rounds("full_mesh", 8) == 2);
  CHECK(rounds("full_mesh", 17) == 2);
  CHECK(rounds("full_mesh", 18) == 4);
  CHECK(rounds("tree", 8) == 6);
  CHECK(rounds("tree", 9) == 8);
  CHECK(rounds("ring", 1) == 0);
}

TEST_CASE("topology: parts of a count cover it without gap", "[topology]") {
  // 64 * 1024 * 50257 logits: beyond 2^31.
  for (const std::size_t count : {std::size_t{0}, std::size_t{10}, std::size_t{3293642752}})
    for (const int parts : {1, 3, 7}) {
      std::size_t next = 0;
      for (int i = 0; i < parts; ++i) {
        const Range range = part(count, i, parts);
        CHECK(range.begin == next);
        const std::size_t least = count / static_cast<std::size_t>(parts);
        CHECK((range.size() == least || range.size() == least + 1));
        next = range.end;
      }
      CHECK(next == count);
    }
}

TEST_CASE("topology: an unknown name is refused with the valid ones", "[topology]") {
  CHECK(topology_names() == std::vector<std::string>{"full_mesh", "ring", "tree"});
  CHECK_THROWS_WITH(make_topology("rung"),
                    Contains("\"rung\"") && Contains("full_mesh, ring, tree"));
}

TEST_CASE("topology: arguments that do not fit the group are refused", "[topology]") {
  const auto ring = make_topology("ring");
  const std::vector<std::size_t> two{1, 1};
  CHECK_THROWS_AS(ring->all_gather({.rank = 0, .size = 3}, two), CommError);
  CHECK_THROWS_AS(ring->broadcast({.rank = 0, .size = 3}, 3, 10), CommError);
  CHECK_THROWS_AS(ring->all_to_all({.rank = 0, .size = 3}, two, two), CommError);
}
