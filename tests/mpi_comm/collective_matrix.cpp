// The matrix: every collective × topology × type × size, against sums computed without
// communication.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "collective_cases.h"
#include "topology_cases.h"

namespace skep {
namespace {

// Small whole numbers: exact in every type, and so are their sums over 17 ranks in u8.
int value(std::size_t rank, std::size_t i) { return static_cast<int>((rank * 5 + i * 3) % 13); }

template <class T>
std::vector<T> values(int rank, std::size_t count) {
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i] = static_cast<T>(value(static_cast<std::size_t>(rank), i));
  return all;
}

// One topology at one step, tried on a communicator.
struct Trial {
  Communicator& comm;
  std::string label;
  Route route;
  Group group;
  Wrong& wrong;

  template <class T>
  void expect(bool right, const char* operation, std::size_t count) const {
    if (!right)
      wrong.push_back(fmt::format("rank {}: {} of {} {} over {}, step {}", comm.rank(), operation,
                                  count, name_of(wire_type_of<T>), label, route.step));
  }
};

// The combination over the group, computed here without communication.
template <class T>
std::vector<T> combined(const Group& group, std::size_t count, Combine how) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    int total = value(static_cast<std::size_t>(group.ranks[0]), i);
    for (std::size_t r = 1; r < group.ranks.size(); ++r) {
      const int next = value(static_cast<std::size_t>(group.ranks[r]), i);
      total = how == Combine::sum   ? total + next
              : how == Combine::max ? std::max(total, next)
                                    : std::min(total, next);
    }
    result[i] = static_cast<T>(total);
  }
  return result;
}

template <class T>
void check_reductions(const Trial& trial, std::size_t count) {
  const int rank = trial.comm.rank();
  for (const Combine how : {Combine::sum, Combine::max, Combine::min}) {
    auto reduced = values<T>(rank, count);
    trial.comm.all_reduce(reduced, how, trial.route);
    trial.expect<T>(reduced == combined<T>(trial.group, count, how), "all_reduce", count);
  }
  auto scattered = values<T>(rank, count);
  trial.comm.reduce_scatter(scattered, Combine::sum, trial.route);
  const auto sum = combined<T>(trial.group, count, Combine::sum);
  const Range own = part(count, trial.group.position, trial.group.size());
  const auto begin = static_cast<std::ptrdiff_t>(own.begin);
  trial.expect<T>(
      std::equal(sum.begin() + begin, sum.begin() + static_cast<std::ptrdiff_t>(own.end),
                 scattered.begin() + begin),
      "reduce_scatter", count);
}

template <class T>
void check_moves(const Trial& trial, std::size_t count) {
  const int own_rank = trial.comm.rank();
  std::vector<T> wanted, uneven;
  std::vector<std::size_t> counts;  // rank r gives (r + 1) % 3 times `count`
  for (const int rank : trial.group.ranks) {
    const auto block = values<T>(rank, count);
    wanted.insert(wanted.end(), block.begin(), block.end());
    counts.push_back(static_cast<std::size_t>(rank + 1) % 3 * count);
    const auto other = values<T>(rank, counts.back());
    uneven.insert(uneven.end(), other.begin(), other.end());
  }
  std::vector<T> all(wanted.size());
  trial.comm.all_gather(values<T>(own_rank, count), all, trial.route);
  trial.expect<T>(all == wanted, "all_gather", count);

  all.assign(uneven.size(), T{});
  const std::size_t own = counts[static_cast<std::size_t>(trial.group.position)];
  trial.comm.all_gatherv(values<T>(own_rank, own), counts, all, trial.route);
  trial.expect<T>(all == uneven, "all_gatherv", count);

  // All ranks make equally many calls, those of a smaller group too: positions wrap around.
  for (int i = 0; i < trial.comm.size(); ++i) {
    const int root = trial.group.rank_at(i);
    auto data = values<T>(own_rank, count);
    trial.comm.broadcast(data, root, trial.route);
    trial.expect<T>(data == values<T>(root, count), "broadcast", count);
  }
}

// Rank r sends (r + 2 p) % 3 times `unit` elements to rank p: all different, some nothing.
std::size_t sent(std::size_t from, std::size_t to, std::size_t unit) {
  return (from + 2 * to) % 3 * unit;
}

template <class T>
void check_exchanges(const Trial& trial, std::size_t count) {
  const auto own = static_cast<std::size_t>(trial.comm.rank());
  std::vector<std::size_t> send_counts, receive_counts;
  std::vector<T> send, equal_send, wanted, equal_wanted;
  for (const int rank : trial.group.ranks) {
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
  trial.comm.all_to_allv(send, send_counts, received, receive_counts, trial.route);
  trial.expect<T>(received == wanted, "all_to_allv", count);
  trial.comm.all_to_all(equal_send, equal_received, trial.route);
  trial.expect<T>(equal_received == equal_wanted, "all_to_all", count);
}

template <class T>
void check_all(const Trial& trial, std::size_t count) {
  check_reductions<T>(trial, count);
  check_moves<T>(trial, count);
  check_exchanges<T>(trial, count);
}

template <class Check>
void for_every_topology(Communicator& comm, Wrong& wrong, Check check) {
  for (const auto& [label, topology] : topology_cases(comm.size()))
    for (const long step : steps_of(*topology, comm.size())) {
      const Route route(*topology, 23, step);
      check(Trial{comm, label, route, topology->group(comm.place(route.seed, step)), wrong});
    }
}

// Fractions: their sums round, so the order of additions would show.
std::vector<float> fractions(const Communicator& comm, std::size_t count) {
  std::vector<float> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(1.0f / static_cast<float>(comm.rank() * 17 + static_cast<int>(i) + 1));
  return all;
}

// Every collective once; all results in one vector.
std::vector<float> results(const Trial& trial, std::size_t count) {
  std::vector<float> all;
  const auto keep = [&](const std::vector<float>& values) {
    all.insert(all.end(), values.begin(), values.end());
  };
  Communicator& comm = trial.comm;
  auto reduced = fractions(comm, count);
  comm.all_reduce(reduced, Combine::sum, trial.route);
  keep(reduced);
  auto scattered = fractions(comm, count);
  comm.reduce_scatter(scattered, Combine::sum, trial.route);
  const Range own = part(count, trial.group.position, trial.group.size());
  keep({scattered.begin() + static_cast<std::ptrdiff_t>(own.begin),
        scattered.begin() + static_cast<std::ptrdiff_t>(own.end)});
  std::vector<float> gathered(count * trial.group.ranks.size());
  comm.all_gather(fractions(comm, count), gathered, trial.route);
  keep(gathered);
  auto sent = fractions(comm, count);
  comm.broadcast(sent, trial.group.ranks.back(), trial.route);
  keep(sent);
  const auto blocks = fractions(comm, gathered.size());
  std::vector<float> exchanged(blocks.size());
  comm.all_to_all(blocks, exchanged, trial.route);
  keep(exchanged);
  return all;
}

}  // namespace

Wrong check_tiny(Communicator& comm) {
  Wrong wrong;
  const auto p = static_cast<std::size_t>(comm.size());
  for_every_topology(comm, wrong, [p](const Trial& trial) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, p - 1, p, p + 1}) {
      check_all<float>(trial, count);
      check_all<double>(trial, count);
      check_all<std::int32_t>(trial, count);
      check_all<std::int64_t>(trial, count);
      check_all<std::uint8_t>(trial, count);
    }
  });
  return wrong;
}

Wrong check_large(Communicator& comm) {
  Wrong wrong;
  const std::size_t count = 1000003;
  for_every_topology(comm, wrong, [&](const Trial& trial) {
    auto data = values<float>(comm.rank(), count);
    comm.all_reduce(data, Combine::sum, trial.route);
    trial.expect<float>(data == combined<float>(trial.group, count, Combine::sum), "all_reduce",
                        count);
  });
  return wrong;
}

Wrong check_chunks(Communicator& comm) {
  Wrong wrong;
  for_every_topology(comm, wrong, [&](const Trial& trial) {
    const auto whole = results(trial, 100);
    comm.set_max_chunk(7);
    const auto chunked = results(trial, 100);
    if (std::memcmp(whole.data(), chunked.data(), whole.size() * sizeof(float)) != 0)
      wrong.push_back("chunks of 7 change the result over " + trial.label);
    if (comm.size() == 3 && trial.label == "ring") {
      // Parts of 34, 33 and 33 elements are 5 chunks each; 4 rounds.
      std::vector<float> data(100);
      const auto before = comm.traffic().total().messages_sent;
      comm.all_reduce(data, Combine::sum, trial.route);
      const auto messages = comm.traffic().total().messages_sent - before;
      if (messages != 20) wrong.push_back(fmt::format("{} messages instead of 20", messages));
    }
    comm.set_max_chunk(Executor::default_max_chunk);
  });
  return wrong;
}

}  // namespace skep
