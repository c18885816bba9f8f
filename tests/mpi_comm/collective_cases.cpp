// What is left beside the matrix: traffic, order, overlap, numbers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <random>

#include "collective_cases.h"
#include "mpi_comm/comm_error.h"
#include "topology_cases.h"

namespace skep {
namespace {

// FNV-1a over the bytes of a buffer.
template <class T>
std::uint64_t hash_of(const std::vector<T>& values) {
  std::uint64_t hash = 1469598103934665603ull;
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (std::size_t i = 0; i < values.size() * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

// Fractions: their sums round, so the order of additions would show.
std::vector<float> fractions(const Communicator& comm, std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(1.0f / static_cast<float>(comm.rank() * 17 + static_cast<int>(i) + 1));
  return values;
}

// Bytes the cost table has a rank send for `bytes`; none where the ranks differ in other ways.
std::optional<std::size_t> cost(const Topology& topology, const Group& group, std::size_t bytes) {
  const auto even = [bytes](std::size_t ranks) { return 2 * (ranks - 1) * bytes / ranks; };
  const std::size_t ranks = group.ranks.size();
  if (topology.name() == "tree" || topology.name() == "hierarchical") return std::nullopt;
  if (topology.name() != "halving_doubling") return even(ranks);
  const std::size_t core = std::bit_floor(ranks);
  const auto position = static_cast<std::size_t>(group.position);
  if (position >= 2 * (ranks - core)) return even(core);
  return position % 2 == 1 ? bytes : even(core) + bytes;
}

}  // namespace

Wrong check_traffic(Communicator& comm) {
  Wrong wrong;
  const auto p = static_cast<std::size_t>(comm.size());
  const std::size_t count = 840 * p, bytes = count * sizeof(float);  // 840: for groups of 1 to 8
  for (const auto& [label, topology] : topology_cases(comm.size()))
    for (const long step : steps_of(*topology, comm.size())) {
      const Route route(*topology, 23, step);
      const Group group = topology->group(comm.place(route.seed, step));
      const auto counts = [&, &topology = *topology] {
        const auto& all = comm.traffic().by_topology();
        const auto found = all.find(topology.name());
        return found == all.end() ? TrafficCounts{} : found->second;
      };
      const TrafficCounts before = counts();
      auto data = fractions(comm, count);
      comm.all_reduce(data, Combine::sum, route);
      const TrafficCounts after = counts();
      const std::size_t sent = after.bytes_sent - before.bytes_sent;
      const std::size_t received = after.bytes_received - before.bytes_received;
      if (after.collectives != before.collectives + 1) wrong.push_back("collectives not counted");
      if (sent != cost(*topology, group, bytes).value_or(sent))
        wrong.push_back(fmt::format("{}: {} bytes sent", label, sent));
      const auto lost = comm.all_reduce(
          static_cast<std::int64_t>(sent) - static_cast<std::int64_t>(received), Combine::sum);
      if (lost != 0) wrong.push_back(fmt::format("{}: {} bytes sent to nobody", label, lost));
      // Whoever sends it: each of s ranks but one gives its values and gets the sums.
      std::vector<std::int64_t> total{static_cast<std::int64_t>(sent)};
      comm.all_reduce(total, Combine::sum, route);
      if (total[0] != static_cast<std::int64_t>(2 * (group.ranks.size() - 1) * bytes))
        wrong.push_back(fmt::format("{}: {} bytes sent in all", label, total[0]));
      const std::vector<std::int64_t> mine{std::bit_cast<std::int64_t>(hash_of(data))};
      std::vector<std::int64_t> all(group.ranks.size());
      comm.all_gather(mine, all, route);
      if (std::count(all.begin(), all.end(), all[0]) != std::ssize(all))
        wrong.push_back(label + ": replicas are not bit-identical");
    }
  return wrong;
}

Wrong check_rank_order(Communicator& comm) {
  Wrong wrong;
  const auto topology = make_topology("random_clusters", {.cluster_size = 2});
  std::mt19937_64 dropout(1);
  for (int i = 0; i < comm.rank(); ++i) topology->groups(comm.place(dropout(), i));
  for (long step = 0; step < 20; ++step) {
    std::vector<std::int64_t> line;
    for (const auto& cluster : topology->groups(comm.place(5, step))) {
      line.insert(line.end(), cluster.begin(), cluster.end());
      line.push_back(-1);
    }
    if (!comm.all_equal(hash_of(line)).empty())
      wrong.push_back(fmt::format("ranks disagree about the clusters of step {}", step));
  }
  return wrong;
}

Wrong check_in_flight(Communicator& comm) {
  Wrong wrong;
  const auto ring = make_topology("ring"), tree = make_topology("tree"),
             mesh = make_topology("full_mesh");
  // Large enough for rendezvous messages, which do not complete at once.
  const std::size_t count = 50000;
  const int n = comm.size(), rank = comm.rank();
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<float> a(count, static_cast<float>(rank)), b(count, static_cast<float>(2 * rank));
    std::vector<std::int64_t> c(10, rank);
    Pending first = comm.start(ring->all_reduce(comm.place(), count), a);
    Pending second = comm.start(tree->all_reduce(comm.place(), count), b);
    Pending third = comm.start(mesh->all_reduce(comm.place(), 10), c, Combine::max);
    for (int i = 0; i < 10; ++i) comm.progress();
    third.wait();
    second.wait();
    first.wait();
    if (!first.done()) wrong.push_back("a plan is not done after waiting for it");
    const auto sum = static_cast<float>(n * (n - 1) / 2);
    if (a != std::vector<float>(count, sum)) wrong.push_back("ring in flight");
    if (b != std::vector<float>(count, 2 * sum)) wrong.push_back("tree in flight");
    if (c != std::vector<std::int64_t>(10, n - 1)) wrong.push_back("mesh in flight");
  }
  return wrong;
}

Wrong check_scalars(Communicator& comm) {
  Wrong wrong;
  const int n = comm.size(), rank = comm.rank();
  comm.barrier();
  if (comm.all_reduce(0.5 * rank, Combine::sum) != 0.25 * n * (n - 1)) wrong.push_back("sum");
  if (comm.all_reduce(std::int64_t{rank}, Combine::max) != n - 1) wrong.push_back("max");
  if (comm.all_reduce(std::int64_t{rank}, Combine::min) != 0) wrong.push_back("min");
  if (!comm.all_equal(0xffffffffffffffffull).empty()) wrong.push_back("equal hashes differ");
  if (n >= 2 && comm.all_equal(rank == n - 1 ? 7 : 5) != std::vector<int>{n - 1})
    wrong.push_back("the rank with another hash is not named");
  if (n >= 3 && comm.all_equal(rank == 0 ? 7 : 5) != std::vector<int>{0})
    wrong.push_back("rank 0 against the majority is not named");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double worst = comm.all_reduce(rank == n / 2 ? nan : 1.0, Combine::max);
  if (worst == worst) wrong.push_back("a NaN is lost in max");
  std::vector<float> small(1), all(1);
  try {
    if (n >= 2) comm.all_gather(small, all);
    if (n >= 2) wrong.push_back("a gather buffer that is too small is accepted");
  } catch (const CommError&) {  // before anything was sent, so the ranks are still in step
  }
  return wrong;
}

Wrong check_background(Communicator& comm) {
  Wrong wrong;
  const std::size_t p = static_cast<std::size_t>(comm.size()), count = 1000;
  const auto of_rank = [&](std::size_t r) {  // whole numbers: sums are exact
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>((r * 5 + i * 3) % 13));
    return values;
  };
  const std::vector<float> own_values = of_rank(static_cast<std::size_t>(comm.rank()));
  std::vector<float> reduced = own_values, scattered = own_values, sent = own_values;
  const std::vector<std::size_t> counts(p, count);
  std::vector<float> gathered(count * p), wanted, sum(count);
  for (std::size_t r = 0; r < p; ++r)
    for (std::size_t i = 0; i < count; ++i) {
      wanted.push_back(of_rank(r)[i]);
      sum[i] += wanted.back();
    }
  {
    Pending first = comm.start_all_reduce(reduced);
    Pending second = comm.start_reduce_scatter(scattered);
    Pending third = comm.start_all_gatherv(own_values, counts, gathered);
    Pending fourth = comm.start_broadcast(sent, comm.size() - 1);
    for (int i = 0; i < 10; ++i) comm.progress();
    fourth.wait();
    third.wait();
  }  // the other two are waited for on letting go
  if (reduced != sum) wrong.push_back("all_reduce in the background");
  const Range own = part(count, comm.rank(), comm.size());
  if (!std::equal(sum.begin() + static_cast<std::ptrdiff_t>(own.begin),
                  sum.begin() + static_cast<std::ptrdiff_t>(own.end),
                  scattered.begin() + static_cast<std::ptrdiff_t>(own.begin)))
    wrong.push_back("reduce_scatter in the background");
  if (gathered != wanted) wrong.push_back("all_gatherv in the background");
  if (!std::equal(sent.begin(), sent.end(), wanted.end() - static_cast<std::ptrdiff_t>(count)))
    wrong.push_back("broadcast in the background");
  // A blocking collective after one in the background: the first is finished on the way.
  std::vector<float> early = own_values;
  Pending pending = comm.start_all_reduce(early);
  if (comm.all_reduce(1.0, Combine::sum) != comm.size()) wrong.push_back("one after the other");
  pending.wait();
  if (early != sum) wrong.push_back("all_reduce before another");
  return wrong;
}

bool same_everywhere(Communicator& comm, const std::vector<float>& data) {
  return comm.all_equal(hash_of(data)).empty();
}

Wrong check_everything(Communicator& comm) {
  Wrong wrong;
  for (const auto check : {check_tiny, check_large, check_chunks, check_traffic, check_rank_order,
                           check_in_flight, check_scalars, check_background}) {
    const Wrong found = check(comm);
    wrong.insert(wrong.end(), found.begin(), found.end());
  }
  return wrong;
}

}  // namespace skep
