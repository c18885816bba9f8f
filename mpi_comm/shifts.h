#pragma once
// The pattern of direct exchanges: everybody sends to the position some distance ahead and receives
// from the one as far behind. At every moment each sends to as many as it receives from.
#include <algorithm>
#include <vector>

#include "mpi_comm/plan.h"
#include "mpi_comm/topology.h"

namespace skep {

/// Calls visit(round, distance) for the distances 1 … size - 1, `window` of them in each round.
template <class Visit>
Plan shifts(int size, int window, OnArrival action, Visit visit) {
  Plan plan;
  for (int first = 1; first < size; first += window) {
    Round& round = plan.rounds.emplace_back();
    round.on_arrival = action;
    const int end = std::min(first + window, size);
    for (int distance = first; distance < end; ++distance) visit(round, distance);
  }
  return plan;
}

/// Sends sends[i] straight to position i and receives receives[i] from it, `window` peers a round.
inline Plan exchange(const Group& group, int window, const std::vector<Range>& sends,
                     const std::vector<Range>& receives) {
  return shifts(group.size(), window, OnArrival::copy, [&](Round& round, int distance) {
    const int to = group.wrap(group.position + distance);
    const int from = group.wrap(group.position - distance);
    round.send(group.rank_at(to), sends[static_cast<std::size_t>(to)]);
    round.receive(group.rank_at(from), receives[static_cast<std::size_t>(from)]);
  });
}

}  // namespace skep
