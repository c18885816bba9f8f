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

void Communicator::set_carrier(Carrier carrier, const Calibration& calibration) {
  if (carrier == Carrier::mpi && !has_library())
    comm_fail(CommFailure::usage,
              "comm.transport mpi: these ranks are threads of one process, without MPI; use plans");
  carrier_ = carrier;
  calibration_ = calibration;
  // Decided once for each power of two: a small collective takes less than a logarithm.
  for (std::size_t width = 0; width < library_wins_.size(); ++width)
    library_wins_[width] =
        carrier == Carrier::mpi ||
        (carrier == Carrier::automatic &&
         calibration.library_is_faster(width == 0 ? 1 : std::size_t{1} << (width - 1)));
}

bool Communicator::hands_over(const Route& route, std::size_t bytes) const {
  return library_wins_[static_cast<std::size_t>(std::bit_width(bytes))] && size() > 1 &&
         route.topology.reach(size()) == Reach::global;
}

std::optional<LibraryCall> Communicator::handed_over(Collective what, WireSpan data, Combine how,
                                                     const Route& route) const {
  if (!hands_over(route, data.size_bytes())) return {};
  LibraryCall call;
  call.what = what;
  call.data = data;
  call.how = how;
  call.max_count = library_chunk_;
  return call;
}

std::optional<LibraryCall> Communicator::handed_over_gather(std::span<const std::size_t> counts,
                                                            WireSpan all,
                                                            const Route& route) const {
  auto call = handed_over(Collective::all_gather, all, Combine::sum, route);
  if (!call) return {};
  for (std::size_t begin = 0; const std::size_t count : counts) {
    call->blocks.push_back({begin, begin + count});
    begin += count;
  }
  return call;
}

std::optional<LibraryCall> Communicator::in_background(std::optional<LibraryCall> call) const {
  return carrier_ == Carrier::automatic ? std::nullopt : std::move(call);
}

Pending Communicator::start_all_reduce(WireSpan data, Combine how, const Route& route) {
  if (const auto call = in_background(handed_over(Collective::all_reduce, data, how, route)))
    return executor_.start(*call);
  return start(route.topology.all_reduce(place(route), data.count()), data, how);
}

void Communicator::all_reduce(WireSpan data, Combine how, const Route& route) {
  if (const auto call = handed_over(Collective::all_reduce, data, how, route))
    return executor_.run(*call);
  start(route.topology.all_reduce(place(route), data.count()), data, how).wait();
}

void Communicator::reduce_scatter(WireSpan data, Combine how, const Route& route) {
  if (auto call = handed_over(Collective::reduce_scatter, data, how, route)) {
    call->blocks = parts_of(data.count(), size());
    return executor_.run(*call);
  }
  start(route.topology.reduce_scatter(place(route), data.count()), data, how).wait();
}

Pending Communicator::start_reduce_scatter(WireSpan data, Combine how, const Route& route) {
  if (auto call = in_background(handed_over(Collective::reduce_scatter, data, how, route))) {
    call->blocks = parts_of(data.count(), size());
    return executor_.start(*call);
  }
  return start(route.topology.reduce_scatter(place(route), data.count()), data, how);
}

void Communicator::all_gather(WireView mine, WireSpan all, const Route& route) {
  const std::size_t ranks = route.topology.group(place(route)).ranks.size();
  all_gatherv(mine, std::vector<std::size_t>(ranks, mine.count()), all, route);
}

void Communicator::all_gatherv(WireView mine, std::span<const std::size_t> counts, WireSpan all,
                               const Route& route) {
  place_own_block(mine, counts, all, route);
  if (const auto call = handed_over_gather(counts, all, route)) return executor_.run(*call);
  start(route.topology.all_gather(place(route), counts), all).wait();
}

Pending Communicator::start_all_gatherv(WireView mine, std::span<const std::size_t> counts,
                                        WireSpan all, const Route& route) {
  place_own_block(mine, counts, all, route);
  if (const auto call = in_background(handed_over_gather(counts, all, route)))
    return executor_.start(*call);
  return start(route.topology.all_gather(place(route), counts), all);
}

void Communicator::place_own_block(WireView mine, std::span<const std::size_t> counts, WireSpan all,
                                   const Route& route) const {
  const Group group = route.topology.group(place(route));
  comm_check(counts.size() == group.ranks.size(), "all_gather: {} counts for a group of {} ranks",
             counts.size(), group.size());
  const auto position = static_cast<std::size_t>(group.position);
  const std::size_t total = sum_of(counts);
  comm_check(mine.type() == all.type(), "all_gather: contributes {} but gathers {}",
             name_of(mine.type()), name_of(all.type()));
  comm_check(mine.count() == counts[position] && all.count() == total,
             "all_gather: rank {} contributes {} elements into {}, the counts say {} into {}",
             rank(), mine.count(), all.count(), counts[position], total);
  const std::size_t begin = sum_of(counts.first(position));
  std::copy_n(mine.data(), mine.size_bytes(), all.part(begin, mine.count()).data());
}

void Communicator::broadcast(WireSpan data, int root, const Route& route) {
  if (auto call = handed_over(Collective::broadcast, data, Combine::sum, route)) {
    call->root = root;
    return executor_.run(*call);
  }
  start(route.topology.broadcast(place(route), root, data.count()), data).wait();
}

Pending Communicator::start_broadcast(WireSpan data, int root, const Route& route) {
  if (auto call = in_background(handed_over(Collective::broadcast, data, Combine::sum, route))) {
    call->root = root;
    return executor_.start(*call);
  }
  return start(route.topology.broadcast(place(route), root, data.count()), data);
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
