#include "mpi_comm/communicator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/topologies/full_mesh.h"
#include "mpi_comm/topologies/tree.h"

namespace skep {
namespace {

std::size_t sum_of(std::span<const std::size_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

}  // namespace

const Topology& default_topology() {
  static const FullMesh mesh;
  return mesh;
}

Communicator::Communicator(std::unique_ptr<Transport> transport,
                           std::unique_ptr<FingerprintChannel> channel)
    : transport_(std::move(transport)), executor_(*transport_, traffic_, std::move(channel)) {}

Pending Communicator::start(Plan plan, WireSpan data, Combine how) {
  return executor_.start(std::move(plan), data, how);
}

Pending Communicator::start(Plan plan, WireView send, WireSpan receive) {
  return executor_.start(std::move(plan), {send, receive}, Combine::sum);
}

void Communicator::all_reduce(WireSpan data, Combine how, const Route& route) {
  start(route.topology.all_reduce(place(route), data.count()), data, how).wait();
}

void Communicator::reduce_scatter(WireSpan data, Combine how, const Route& route) {
  start(route.topology.reduce_scatter(place(route), data.count()), data, how).wait();
}

void Communicator::all_gather(WireView mine, WireSpan all, const Route& route) {
  const std::size_t ranks = route.topology.group(place(route)).ranks.size();
  all_gatherv(mine, std::vector<std::size_t>(ranks, mine.count()), all, route);
}

void Communicator::all_gatherv(WireView mine, std::span<const std::size_t> counts, WireSpan all,
                               const Route& route) {
  Plan plan = route.topology.all_gather(place(route), counts);
  const auto position = static_cast<std::size_t>(route.topology.group(place(route)).position);
  const std::size_t total = sum_of(counts);
  comm_check(mine.type() == all.type(), "all_gather: contributes {} but gathers {}",
             name_of(mine.type()), name_of(all.type()));
  comm_check(mine.count() == counts[position] && all.count() == total,
             "all_gather: rank {} contributes {} elements into {}, the counts say {} into {}",
             rank(), mine.count(), all.count(), counts[position], total);
  const std::size_t begin = sum_of(counts.first(position));
  std::copy_n(mine.data(), mine.size_bytes(), all.part(begin, mine.count()).data());
  start(std::move(plan), all).wait();
}

void Communicator::broadcast(WireSpan data, int root, const Route& route) {
  start(route.topology.broadcast(place(route), root, data.count()), data).wait();
}

void Communicator::all_to_all(WireView send, WireSpan receive, const Route& route) {
  const std::size_t ranks = route.topology.group(place(route)).ranks.size();
  comm_check(send.count() % ranks == 0, "all_to_all: {} elements do not divide among {} ranks",
             send.count(), ranks);
  const std::vector<std::size_t> counts(ranks, send.count() / ranks);
  all_to_allv(send, counts, receive, counts, route);
}

void Communicator::all_to_allv(WireView send, std::span<const std::size_t> send_counts,
                               WireSpan receive, std::span<const std::size_t> receive_counts,
                               const Route& route) {
  Plan plan = route.topology.all_to_all(place(route), send_counts, receive_counts);
  const auto position = static_cast<std::size_t>(route.topology.group(place(route)).position);
  comm_check(send.type() == receive.type(), "all_to_all: sends {} but receives {}",
             name_of(send.type()), name_of(receive.type()));
  comm_check(
      send.count() == sum_of(send_counts) && receive.count() == sum_of(receive_counts),
      "all_to_all: rank {} has {} elements to send and room for {}, the counts say {} and {}",
      rank(), send.count(), receive.count(), sum_of(send_counts), sum_of(receive_counts));
  const std::size_t own = send_counts[position];
  comm_check(own == receive_counts[position],
             "all_to_all: rank {} keeps {} elements but expects {} from itself", rank(), own,
             receive_counts[position]);
  const WireView kept = send.part(sum_of(send_counts.first(position)), own);
  std::copy_n(kept.data(), kept.size_bytes(),
              receive.part(sum_of(receive_counts.first(position)), own).data());
  start(std::move(plan), send, receive).wait();
}

void Communicator::barrier() {
  // The sum of ones is complete only after every rank has given its one.
  static const Tree tree;
  std::array<std::int64_t, 1> arrived{1};
  all_reduce(arrived, Combine::sum, tree);
  comm_check(arrived[0] == size(), "barrier: {} of {} ranks arrived", arrived[0], size());
}

double Communicator::all_reduce(double value, Combine how) {
  std::array<double, 1> values{value};
  all_reduce(values, how);
  return values[0];
}

std::int64_t Communicator::all_reduce(std::int64_t value, Combine how) {
  std::array<std::int64_t, 1> values{value};
  all_reduce(values, how);
  return values[0];
}

std::vector<int> Communicator::all_equal(std::uint64_t hash) {
  const std::array<std::int64_t, 1> mine{std::bit_cast<std::int64_t>(hash)};
  std::vector<std::int64_t> all(static_cast<std::size_t>(size()));
  all_gather(mine, all);
  // max_element returns the first of equals: the camp of the lowest rank.
  std::vector<std::ptrdiff_t> camp;
  for (const std::int64_t value : all) camp.push_back(std::count(all.begin(), all.end(), value));
  const auto largest = std::max_element(camp.begin(), camp.end()) - camp.begin();
  std::vector<int> different;
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r] != all[static_cast<std::size_t>(largest)]) different.push_back(static_cast<int>(r));
  return different;
}

}  // namespace skep
