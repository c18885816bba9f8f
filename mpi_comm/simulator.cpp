#include "mpi_comm/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace skep {
namespace {

using Faults = std::vector<std::string>;

bool overlap(Range a, Range b) { return a.begin < b.end && b.begin < a.end; }

// What can be said about one round by itself.
void inspect(const Round& round, int rank, std::size_t index, int ranks, std::size_t count,
             Faults& faults) {
  const auto report = [&](std::string_view what, const Transfer& transfer) {
    faults.push_back(fmt::format("rank {} round {}: {} (peer {}, {}-{})", rank, index, what,
                                 transfer.peer, transfer.range.begin, transfer.range.end));
  };
  for (const auto* list : {&round.sends, &round.receives})
    for (const Transfer& transfer : *list) {
      if (transfer.peer < 0 || transfer.peer >= ranks || transfer.peer == rank)
        report("no such peer", transfer);
      if (transfer.range.begin >= transfer.range.end || transfer.range.end > count)
        report("range empty or outside the buffer", transfer);
    }
  for (std::size_t i = 0; i < round.receives.size(); ++i) {
    const Transfer& in = round.receives[i];
    for (const Transfer& out : round.sends)
      if (overlap(in.range, out.range)) report("receives what it is sending", in);
    for (std::size_t j = 0; j < i && round.on_arrival == OnArrival::copy; ++j)
      if (overlap(in.range, round.receives[j].range)) report("received twice", in);
  }
}

// One rank on its way through its plan.
template <class T>
struct Walker {
  std::size_t round = 0;
  bool posted = false;
  std::size_t open = 0;                  // sends and receives of this round not yet matched
  std::size_t taken = 0;                 // receives of this round matched
  std::vector<std::vector<T>> arrivals;  // in the order of the round's receives
};

// A posted send or receive: which transfer of its rank's current round.
struct Posted {
  Range range;
  std::size_t index;
};

template <class T>
class Simulation {
 public:
  Simulation(const std::vector<Plan>& plans, std::vector<std::vector<T>>& buffers)
      : plans_(plans),
        buffers_(buffers),
        ranks_(plans.size()),
        walkers_(ranks_),
        sends_(ranks_ * ranks_),
        receives_(ranks_ * ranks_) {}

  void run(Faults& faults) {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t rank = 0; rank < ranks_; ++rank) moved |= post(rank);
      for (std::size_t from = 0; from < ranks_; ++from)
        for (std::size_t to = 0; to < ranks_; ++to) moved |= match(from, to, faults);
      for (std::size_t rank = 0; rank < ranks_; ++rank) moved |= finish(rank);
    }
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      if (walkers_[rank].round < plans_[rank].rounds.size())
        faults.push_back(fmt::format("rank {} waits for ever in round {}: {} transfers unmatched",
                                     rank, walkers_[rank].round, walkers_[rank].open));
  }

 private:
  const Round& current(std::size_t rank) const { return plans_[rank].rounds[walkers_[rank].round]; }

  bool post(std::size_t rank) {
    Walker<T>& walker = walkers_[rank];
    if (walker.posted || walker.round == plans_[rank].rounds.size()) return false;
    const Round& round = current(rank);
    for (std::size_t i = 0; i < round.sends.size(); ++i)
      sends_[rank * ranks_ + peer(round.sends[i])].push_back({round.sends[i].range, i});
    for (std::size_t i = 0; i < round.receives.size(); ++i)
      receives_[peer(round.receives[i]) * ranks_ + rank].push_back({round.receives[i].range, i});
    walker.open = round.sends.size() + round.receives.size();
    walker.taken = 0;
    walker.arrivals.assign(round.receives.size(), {});
    walker.posted = true;
    return true;
  }

  bool match(std::size_t from, std::size_t to, Faults& faults) {
    auto &sends = sends_[from * ranks_ + to], &receives = receives_[from * ranks_ + to];
    if (sends.empty() || receives.empty()) return false;
    const Posted out = sends.front(), in = receives.front();
    // The executor awaits what it combines in order, a few messages at a time; at worst one.
    if (current(to).on_arrival == OnArrival::combine && in.index != walkers_[to].taken)
      return false;
    ++walkers_[to].taken;
    sends.pop_front();
    receives.pop_front();
    const bool alike = plans_[from].numbering == Numbering::shared
                           ? out.range == in.range
                           : out.range.size() == in.range.size();
    if (!alike)
      faults.push_back(fmt::format("rank {} round {} sends {}-{} but rank {} round {} takes {}-{}",
                                   from, walkers_[from].round, out.range.begin, out.range.end, to,
                                   walkers_[to].round, in.range.begin, in.range.end));
    auto& arrival = walkers_[to].arrivals[in.index];
    arrival.resize(in.range.size());
    const auto data = buffers_[from].begin() + static_cast<std::ptrdiff_t>(out.range.begin);
    std::copy_n(data, std::min(in.range.size(), out.range.size()), arrival.begin());
    --walkers_[from].open;
    --walkers_[to].open;
    return true;
  }

  bool finish(std::size_t rank) {
    Walker<T>& walker = walkers_[rank];
    if (!walker.posted || walker.open > 0) return false;
    const Round& round = current(rank);
    for (std::size_t i = 0; i < round.receives.size(); ++i) {
      const Range range = round.receives[i].range;
      for (std::size_t e = 0; e < range.size(); ++e) {
        T& element = buffers_[rank][range.begin + e];
        const T arrived = walker.arrivals[i][e];
        element = round.on_arrival == OnArrival::combine ? element + arrived : arrived;
      }
    }
    ++walker.round;
    walker.posted = false;
    return true;
  }

  static std::size_t peer(const Transfer& transfer) {
    return static_cast<std::size_t>(transfer.peer);
  }

  const std::vector<Plan>& plans_;
  std::vector<std::vector<T>>& buffers_;
  std::size_t ranks_;
  std::vector<Walker<T>> walkers_;
  std::vector<std::deque<Posted>> sends_, receives_;  // [from * ranks + to], first in first out
};

}  // namespace

template <class T>
std::vector<std::string> simulate(const std::vector<Plan>& plans,
                                  std::vector<std::vector<T>>& buffers) {
  Faults faults;
  for (std::size_t rank = 0; rank < plans.size(); ++rank)
    for (std::size_t i = 0; i < plans[rank].rounds.size(); ++i)
      inspect(plans[rank].rounds[i], static_cast<int>(rank), i, static_cast<int>(plans.size()),
              buffers[rank].size(), faults);
  // Moving data by ranges that are wrong in themselves would read outside the buffers.
  if (faults.empty()) Simulation<T>(plans, buffers).run(faults);
  return faults;
}

template std::vector<std::string> simulate(const std::vector<Plan>&,
                                           std::vector<std::vector<float>>&);
template std::vector<std::string> simulate(const std::vector<Plan>&,
                                           std::vector<std::vector<std::int64_t>>&);

}  // namespace skep
