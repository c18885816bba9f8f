// Every topology, all ranks at once, without MPI: sums exact, replicas bit-identical.
#include "mpi_comm/topology.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/simulator.h"
#include "mpi_comm/topologies/full_mesh.h"
#include "mpi_comm/topologies/halving_doubling.h"
#include "mpi_comm/topologies/ring.h"
#include "mpi_comm/topologies/tree.h"
#include "topology_cases.h"

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

// One topology at one size and step; `label` says which.
struct Scene {
  std::string label;
  const Topology& topology;
  int ranks;
  long step;

  Place at(std::size_t rank) const {
    return {.rank = static_cast<int>(rank), .size = ranks, .seed = 17, .step = step};
  }
  Group group(std::size_t rank) const { return topology.group(at(rank)); }
  template <class MakePlan>  // make(place, group)
  std::vector<Plan> plans(MakePlan make) const {
    std::vector<Plan> all;
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r)
      all.push_back(make(at(r), group(r)));
    return all;
  }
  /// The sums over the ranks that `rank` is with.
  std::vector<std::int64_t> sums(std::size_t rank, std::size_t count) const {
    std::vector<std::int64_t> sum(count);
    for (const int member : group(rank).ranks)
      for (std::size_t i = 0; i < count; ++i) sum[i] += value(static_cast<std::size_t>(member), i);
    return sum;
  }
};

const std::vector<std::string> no_faults;

void check_reductions(const Scene& scene, std::size_t count) {
  auto reduced = integers(scene.ranks, count), scattered = reduced;
  REQUIRE(simulate(scene.plans([&](const Place& at, const Group&) {
            return scene.topology.all_reduce(at, count);
          }),
                   reduced) == no_faults);
  REQUIRE(simulate(scene.plans([&](const Place& at, const Group&) {
            return scene.topology.reduce_scatter(at, count);
          }),
                   scattered) == no_faults);
  for (std::size_t r = 0; r < reduced.size(); ++r) {
    const auto sum = scene.sums(r, count);
    REQUIRE(reduced[r] == sum);
    const Group group = scene.group(r);
    const Range own = part(count, group.position, group.size());
    const auto begin = static_cast<std::ptrdiff_t>(own.begin);
    REQUIRE(std::equal(sum.begin() + begin, sum.begin() + static_cast<std::ptrdiff_t>(own.end),
                       scattered[r].begin() + begin));
  }
}

// Blocks of 0 to 3 times `unit` elements, each filled by its rank before.
void check_all_gather(const Scene& scene, std::size_t unit) {
  std::vector<Plan> plans;
  Buffers<std::int64_t> buffers, wanted;
  for (std::size_t r = 0; r < static_cast<std::size_t>(scene.ranks); ++r) {
    std::vector<std::size_t> counts;
    auto &before = buffers.emplace_back(), &after = wanted.emplace_back();
    for (const int member : scene.group(r).ranks) {
      const auto m = static_cast<std::size_t>(member);
      counts.push_back(m * 3 % 4 * unit);
      for (std::size_t i = 0; i < counts.back(); ++i) {
        after.push_back(value(m, i));
        before.push_back(m == r ? after.back() : -1);
      }
    }
    plans.push_back(scene.topology.all_gather(scene.at(r), counts));
  }
  REQUIRE(simulate(plans, buffers) == no_faults);
  REQUIRE(buffers == wanted);
}

void check_broadcast(const Scene& scene, std::size_t count) {
  for (const int root : {0, scene.ranks / 2, scene.ranks - 1}) {  // positions; they wrap around
    auto buffers = integers(scene.ranks, count);
    const auto initial = buffers;
    const auto plans = scene.plans([&](const Place& at, const Group& group) {
      return scene.topology.broadcast(at, group.rank_at(root), count);
    });
    REQUIRE(simulate(plans, buffers) == no_faults);
    for (std::size_t r = 0; r < buffers.size(); ++r)
      REQUIRE(buffers[r] == initial[static_cast<std::size_t>(scene.group(r).rank_at(root))]);
  }
}

// Rank r sends 0 to 3 times `unit` elements to rank p, value(r, p) + i the i-th of them.
void check_all_to_all(const Scene& scene, std::size_t unit) {
  const auto sent = [unit](std::size_t from, std::size_t to) {
    return (from * 3 + to * 2) % 4 * unit;
  };
  std::vector<Plan> plans;
  Buffers<std::int64_t> buffers, wanted;
  for (std::size_t r = 0; r < static_cast<std::size_t>(scene.ranks); ++r) {
    std::vector<std::size_t> sends, receives;
    std::vector<std::int64_t> out, in;
    for (const int member : scene.group(r).ranks) {
      const auto m = static_cast<std::size_t>(member);
      sends.push_back(sent(r, m));
      receives.push_back(sent(m, r));
      for (std::size_t i = 0; i < sends.back(); ++i)
        out.push_back(value(r, m) + static_cast<std::int64_t>(i));
      for (std::size_t i = 0; i < receives.back(); ++i)  // the own block stays with the caller
        in.push_back(m == r ? -1 : value(m, r) + static_cast<std::int64_t>(i));
    }
    plans.push_back(scene.topology.all_to_all(scene.at(r), sends, receives));
    wanted.push_back(out);
    wanted.back().insert(wanted.back().end(), in.begin(), in.end());
    buffers.push_back(std::move(out));
    buffers.back().resize(wanted.back().size(), -1);
  }
  REQUIRE(simulate(plans, buffers) == no_faults);
  REQUIRE(buffers == wanted);
}

void check_all_collectives(const Scene& scene, std::size_t count) {
  CAPTURE(scene.label, scene.ranks, scene.step, count);
  check_reductions(scene, count);
  check_all_gather(scene, count);
  check_broadcast(scene, count);
  check_all_to_all(scene, count);
}

template <class Visit>
void for_all_scenes(Visit visit) {
  for (int ranks = 1; ranks <= 17; ++ranks)
    for (const auto& [label, topology] : topology_cases(ranks))
      for (const long step : steps_of(*topology, ranks))
        visit(Scene{label, *topology, ranks, step});
}

}  // namespace

TEST_CASE("topology: every collective is exact at 1 to 17 ranks", "[topology]") {
  for_all_scenes([](const Scene& scene) {
    const auto p = static_cast<std::size_t>(scene.ranks);
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, p - 1, p, p + 1, std::size_t{5},
                                    std::size_t{64}, std::size_t{501}})
      check_all_collectives(scene, count);
  });
}

TEST_CASE("topology: a million elements and three", "[topology]") {
  const int ranks = 3;
  for (const auto& [label, topology] : topology_cases(ranks)) {
    CAPTURE(label);
    check_reductions({label, *topology, ranks, 0}, 1000003);
  }
}

TEST_CASE("topology: a tree in segments is as exact", "[topology]") {
  const Tree tree(10);
  for (int ranks = 1; ranks <= 17; ++ranks)
    for (const std::size_t count : {9, 10, 11, 64, 501})
      check_all_collectives({"tree in segments of 10", tree, ranks, 0}, count);
}

TEST_CASE("topology: more peers than one window", "[topology]") {
  for (const int ranks : {18, 33, 40}) {
    std::vector<int> two_hosts, many_hosts;
    for (int rank = 0; rank < ranks; ++rank) {
      two_hosts.push_back(rank % 2);
      many_hosts.push_back(rank);
    }
    for (const auto& topology : {make_topology("full_mesh"), make_topology("hierarchical"),
                                 make_topology("hierarchical", {.hosts = two_hosts}),
                                 make_topology("hierarchical", {.hosts = many_hosts})}) {
      const Scene scene{"", *topology, ranks, 0};
      check_all_collectives(scene, 101);
      for (const Plan& plan :
           scene.plans([&](const Place&at, const Group&) { return topology->all_reduce(at, 101); }))
        for (const Round& round : plan.rounds) {
          std::set<int> peers;
          for (const Transfer& transfer : round.sends) peers.insert(transfer.peer);
          CHECK(peers.size() <= 16);
        }
    }
  }
}

TEST_CASE("topology: groups are a partition of the ranks", "[topology]") {
  for_all_scenes([](const Scene& scene) {
    CAPTURE(scene.label, scene.ranks, scene.step);
    std::vector<int> all, everybody;
    for (const auto& group : scene.topology.groups(scene.at(0)))
      all.insert(all.end(), group.begin(), group.end());
    std::sort(all.begin(), all.end());
    for (int rank = 0; rank < scene.ranks; ++rank) everybody.push_back(rank);
    CHECK(all == everybody);
  });
}

// Groups in reverse order of rank: positions are not ranks.
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

TEMPLATE_TEST_CASE("topology: every algorithm works inside groups too", "[topology]", Ring, Tree,
                   FullMesh, HalvingDoubling) {
  const EvenAndOdd<TestType> topology;
  const Scene scene{"even and odd", topology, 7, 0};
  check_all_collectives(scene, 23);
  const auto plans =
      scene.plans([&](const Place& at, const Group&) { return topology.all_reduce(at, 23); });
  for (std::size_t r = 0; r < plans.size(); ++r)
    CHECK(plans[r].participants == (r % 2 == 0 ? 4 : 3));
}

TEST_CASE("topology: replicas are bit-identical although float addition rounds", "[topology]") {
  for_all_scenes([](const Scene& scene) {
    CAPTURE(scene.label, scene.ranks, scene.step);
    const std::size_t count = 1001;
    Buffers<float> buffers(static_cast<std::size_t>(scene.ranks), std::vector<float>(count));
    for (std::size_t r = 0; r < buffers.size(); ++r)
      for (std::size_t i = 0; i < count; ++i)
        buffers[r][i] = 1.0f / static_cast<float>(value(r, i) % 977 + 1);
    const auto plans = scene.plans(
        [&](const Place& at, const Group&) { return scene.topology.all_reduce(at, count); });
    REQUIRE(simulate(plans, buffers) == no_faults);
    for (std::size_t r = 0; r < buffers.size(); ++r) {
      const auto& first = buffers[static_cast<std::size_t>(scene.group(r).ranks.front())];
      REQUIRE(std::memcmp(buffers[r].data(), first.data(), count * sizeof(float)) == 0);
    }
  });
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
  CHECK(topology_names() == std::vector<std::string>{"exponential", "full_mesh", "grid",
                                                     "halving_doubling", "hierarchical",
                                                     "random_clusters", "ring", "tree"});
  CHECK_THROWS_WITH(make_topology("rung"),
                    Contains("\"rung\"") && Contains("random_clusters, ring, tree"));
}

TEST_CASE("topology: arguments that do not fit the group are refused", "[topology]") {
  const auto ring = make_topology("ring");
  const std::vector<std::size_t> two{1, 1};
  CHECK_THROWS_AS(ring->all_gather({.rank = 0, .size = 3}, two), CommError);
  CHECK_THROWS_AS(ring->broadcast({.rank = 0, .size = 3}, 3, 10), CommError);
  CHECK_THROWS_AS(ring->all_to_all({.rank = 0, .size = 3}, two, two), CommError);
  CHECK_THROWS_WITH(make_topology("random_clusters", {.cluster_size = 0}),
                    Contains("clusters of 0 ranks"));
  const auto two_hosts = make_topology("hierarchical", {.hosts = {0, 1}});
  CHECK_THROWS_WITH(two_hosts->all_reduce({.rank = 0, .size = 3}, 10),
                    Contains("knows the hosts of 2 ranks, not of rank 2"));
}
