#include "collective_cases.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <numeric>

#include "mpi_comm/comm_error.h"

namespace skep {
namespace {

std::size_t ranks_of(const Communicator& comm) { return static_cast<std::size_t>(comm.size()); }

// Small whole numbers: exact in every type, and so are their sums over 17 ranks in u8.
int value(std::size_t rank, std::size_t i) { return static_cast<int>((rank * 5 + i * 3) % 13); }

// FNV-1a over the bytes of a buffer.
template <class T>
std::uint64_t hash_of(const std::vector<T>& values) {
  std::uint64_t hash = 1469598103934665603ull;
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (std::size_t i = 0; i < values.size() * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

template <class T>
std::vector<T> mine(const Communicator& comm, std::size_t count) {
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<T>(value(static_cast<std::size_t>(comm.rank()), i)));
  return values;
}

// The combination over all ranks, computed here without communication.
template <class T>
std::vector<T> combined(const Communicator& comm, std::size_t count, Combine how) {
  std::vector<T> result;
  for (std::size_t i = 0; i < count; ++i) {
    int total = value(0, i);
    for (std::size_t r = 1; r < ranks_of(comm); ++r) {
      const int next = value(r, i);
      total = how == Combine::sum   ? total + next
              : how == Combine::max ? std::max(total, next)
                                    : std::min(total, next);
    }
    result.push_back(static_cast<T>(total));
  }
  return result;
}

template <class T>
void check_reductions(Communicator& comm, const Topology& topology, std::size_t count,
                      Wrong& wrong) {
  const auto note = [&](const char* operation) {
    wrong.push_back(fmt::format("{} of {} {} over {}", operation, count, name_of(wire_type_of<T>),
                                topology.name()));
  };
  for (const Combine how : {Combine::sum, Combine::max, Combine::min}) {
    auto reduced = mine<T>(comm, count);
    comm.all_reduce(reduced, how, topology);
    if (reduced != combined<T>(comm, count, how)) note("all_reduce");
  }
  auto scattered = mine<T>(comm, count);
  comm.reduce_scatter(scattered, Combine::sum, topology);
  const auto sum = combined<T>(comm, count, Combine::sum);
  const Range own = part(count, comm.rank(), comm.size());
  for (std::size_t i = own.begin; i < own.end; ++i)
    if (scattered[i] != sum[i]) note("reduce_scatter");
}

template <class T>
void check_moves(Communicator& comm, const Topology& topology, std::size_t count, Wrong& wrong) {
  const auto note = [&](const char* operation) {
    wrong.push_back(fmt::format("{} of {} {} over {}", operation, count, name_of(wire_type_of<T>),
                                topology.name()));
  };
  std::vector<T> all(count * ranks_of(comm)), wanted;
  for (std::size_t r = 0; r < ranks_of(comm); ++r)
    for (std::size_t i = 0; i < count; ++i) wanted.push_back(static_cast<T>(value(r, i)));
  comm.all_gather(mine<T>(comm, count), all, topology);
  if (all != wanted) note("all_gather");

  std::vector<std::size_t> counts;  // rank r gives (r + 1) % 3 times `count`
  wanted.clear();
  for (std::size_t r = 0; r < ranks_of(comm); ++r) {
    counts.push_back((r + 1) % 3 * count);
    for (std::size_t i = 0; i < counts[r]; ++i) wanted.push_back(static_cast<T>(value(r, i)));
  }
  all.assign(wanted.size(), T{});
  comm.all_gatherv(mine<T>(comm, counts[static_cast<std::size_t>(comm.rank())]), counts, all,
                   topology);
  if (all != wanted) note("all_gatherv");

  for (int root = 0; root < comm.size(); ++root) {
    auto data = mine<T>(comm, count);
    comm.broadcast(data, root, topology);
    for (std::size_t i = 0; i < count; ++i)
      if (data[i] != static_cast<T>(value(static_cast<std::size_t>(root), i))) note("broadcast");
  }
}

// Rank r sends (r + 2 p) % 3 times `unit` elements to rank p: all different, some nothing.
std::size_t sent(std::size_t from, std::size_t to, std::size_t unit) {
  return (from + 2 * to) % 3 * unit;
}

template <class T>
void check_exchanges(Communicator& comm, const Topology& topology, std::size_t count,
                     Wrong& wrong) {
  const auto note = [&](const char* operation) {
    wrong.push_back(fmt::format("{} of {} {} over {}", operation, count, name_of(wire_type_of<T>),
                                topology.name()));
  };
  const Group group = topology.group(comm.place());
  const auto own = static_cast<std::size_t>(comm.rank());
  std::vector<std::size_t> send_counts, receive_counts;
  std::vector<T> send, equal_send, wanted, equal_wanted;
  for (const int rank : group.ranks) {
    const auto other = static_cast<std::size_t>(rank);
    send_counts.push_back(sent(own, other, count));
    receive_counts.push_back(sent(other, own, count));
    for (std::size_t i = 0; i < send_counts.back(); ++i)
      send.push_back(static_cast<T>(value(own, i + other)));
    for (std::size_t i = 0; i < receive_counts.back(); ++i)
      wanted.push_back(static_cast<T>(value(other, i + own)));
    for (std::size_t i = 0; i < count; ++i) {
      equal_send.push_back(static_cast<T>(value(own, i + other)));
      equal_wanted.push_back(static_cast<T>(value(other, i + own)));
    }
  }
  std::vector<T> received(wanted.size()), equal_received(equal_wanted.size());
  comm.all_to_allv(send, send_counts, received, receive_counts, topology);
  if (received != wanted) note("all_to_allv");
  comm.all_to_all(equal_send, equal_received, topology);
  if (equal_received != equal_wanted) note("all_to_all");
}

// Fractions: their sums round, so the order of additions would show.
std::vector<float> fractions(const Communicator& comm, std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(1.0f / static_cast<float>(comm.rank() * 17 + static_cast<int>(i) + 1));
  return values;
}

// Every collective once; all results in one vector.
std::vector<float> results(Communicator& comm, const Topology& topology, std::size_t count) {
  std::vector<float> all;
  const auto keep = [&](const std::vector<float>& values) {
    all.insert(all.end(), values.begin(), values.end());
  };
  auto reduced = fractions(comm, count);
  comm.all_reduce(reduced, Combine::sum, topology);
  keep(reduced);
  auto scattered = fractions(comm, count);
  comm.reduce_scatter(scattered, Combine::sum, topology);
  const Range own = part(count, comm.rank(), comm.size());
  keep({scattered.begin() + static_cast<std::ptrdiff_t>(own.begin),
        scattered.begin() + static_cast<std::ptrdiff_t>(own.end)});
  std::vector<float> gathered(count * ranks_of(comm));
  comm.all_gather(fractions(comm, count), gathered, topology);
  keep(gathered);
  auto sent = fractions(comm, count);
  comm.broadcast(sent, comm.size() - 1, topology);
  keep(sent);
  const auto blocks = fractions(comm, count * ranks_of(comm));
  std::vector<float> exchanged(blocks.size());
  comm.all_to_all(blocks, exchanged, topology);
  keep(exchanged);
  return all;
}

}  // namespace

Wrong check_tiny(Communicator& comm) {
  Wrong wrong;
  const std::size_t p = ranks_of(comm);
  for (const std::string& name : topology_names()) {
    const auto topology = make_topology(name);
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, p - 1, p, p + 1}) {
      check_reductions<float>(comm, *topology, count, wrong);
      check_reductions<double>(comm, *topology, count, wrong);
      check_reductions<std::int32_t>(comm, *topology, count, wrong);
      check_reductions<std::int64_t>(comm, *topology, count, wrong);
      check_reductions<std::uint8_t>(comm, *topology, count, wrong);
      check_moves<float>(comm, *topology, count, wrong);
      check_moves<std::uint8_t>(comm, *topology, count, wrong);
      check_exchanges<float>(comm, *topology, count, wrong);
      check_exchanges<std::int64_t>(comm, *topology, count, wrong);
      check_exchanges<std::uint8_t>(comm, *topology, count, wrong);
    }
  }
  return wrong;
}

Wrong check_chunks(Communicator& comm) {
  Wrong wrong;
  for (const std::string& name : topology_names()) {
    const auto topology = make_topology(name);
    const auto whole = results(comm, *topology, 100);
    comm.set_max_chunk(7);
    const auto chunked = results(comm, *topology, 100);
    if (std::memcmp(whole.data(), chunked.data(), whole.size() * sizeof(float)) != 0)
      wrong.push_back("chunks of 7 change the result over " + name);
    if (comm.size() == 3 && name == "ring") {
      // Parts of 34, 33 and 33 elements are 5 chunks each; 4 rounds.
      std::vector<float> data(100);
      const auto before = comm.traffic().total().messages_sent;
      comm.all_reduce(data, Combine::sum, *topology);
      const auto messages = comm.traffic().total().messages_sent - before;
      if (messages != 20) wrong.push_back(fmt::format("{} messages instead of 20", messages));
    }
    comm.set_max_chunk(Executor::default_max_chunk);
  }
  return wrong;
}

Wrong check_traffic(Communicator& comm) {
  Wrong wrong;
  const std::size_t p = ranks_of(comm), count = 60 * p, bytes = count * sizeof(float);
  for (const std::string& name : topology_names()) {
    const auto topology = make_topology(name);
    const auto counts = [&] {
      const auto& all = comm.traffic().by_topology();
      return all.contains(name) ? all.find(name)->second : TrafficCounts{};
    };
    const TrafficCounts before = counts();
    auto data = fractions(comm, count);
    comm.all_reduce(data, Combine::sum, *topology);
    const TrafficCounts after = counts();
    const std::size_t sent = after.bytes_sent - before.bytes_sent;
    const std::size_t received = after.bytes_received - before.bytes_received;
    if (after.collectives != before.collectives + 1) wrong.push_back("collectives not counted");
    if (name != "tree" && (sent != 2 * (p - 1) * bytes / p || received != sent))
      wrong.push_back(fmt::format("{}: {} bytes sent, {} received", name, sent, received));
    const auto lost = comm.all_reduce(
        static_cast<std::int64_t>(sent) - static_cast<std::int64_t>(received), Combine::sum);
    if (lost != 0) wrong.push_back(fmt::format("{}: {} bytes sent to nobody", name, lost));
    if (!comm.all_equal(hash_of(data)).empty())
      wrong.push_back(name + ": replicas are not bit-identical");
  }
  return wrong;
}

Wrong check_in_flight(Communicator& comm) {
  Wrong wrong;
  const auto ring = make_topology("ring"), tree = make_topology("tree"),
             mesh = make_topology("full_mesh");
  // Large enough for rendezvous messages, which do not complete at once.
  const std::size_t count = 50000;
  for (int repeat = 0; repeat < 3; ++repeat) {
    auto a = mine<float>(comm, count), b = mine<float>(comm, count);
    auto c = mine<std::int64_t>(comm, 10);
    Pending first = comm.start(ring->all_reduce(comm.place(), count), a);
    Pending second = comm.start(tree->all_reduce(comm.place(), count), b);
    Pending third = comm.start(mesh->all_reduce(comm.place(), 10), c, Combine::max);
    for (int i = 0; i < 10; ++i) comm.progress();
    third.wait();
    second.wait();
    first.wait();
    if (!first.done()) wrong.push_back("a plan is not done after waiting for it");
    if (a != combined<float>(comm, count, Combine::sum)) wrong.push_back("ring in flight");
    if (b != combined<float>(comm, count, Combine::sum)) wrong.push_back("tree in flight");
    if (c != combined<std::int64_t>(comm, 10, Combine::max)) wrong.push_back("mesh in flight");
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
  const std::size_t p = ranks_of(comm), count = 1000;
  auto reduced = mine<float>(comm, count), scattered = mine<float>(comm, count);
  auto sent = mine<float>(comm, count);
  const std::vector<std::size_t> counts(p, count);
  std::vector<float> gathered(count * p), wanted;
  for (std::size_t r = 0; r < p; ++r)
    for (std::size_t i = 0; i < count; ++i) wanted.push_back(static_cast<float>(value(r, i)));
  {
    Pending first = comm.start_all_reduce(reduced);
    Pending second = comm.start_reduce_scatter(scattered);
    Pending third = comm.start_all_gatherv(mine<float>(comm, count), counts, gathered);
    Pending fourth = comm.start_broadcast(sent, comm.size() - 1);
    for (int i = 0; i < 10; ++i) comm.progress();
    fourth.wait();
    third.wait();
  }  // the other two are waited for on letting go
  const auto sum = combined<float>(comm, count, Combine::sum);
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
  auto early = mine<float>(comm, count);
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
  for (const auto check : {check_tiny, check_chunks, check_traffic, check_in_flight, check_scalars,
                           check_background}) {
    const Wrong found = check(comm);
    wrong.insert(wrong.end(), found.begin(), found.end());
  }
  return wrong;
}

}  // namespace skep
