#include "mpi_comm/collective.h"

#include <fmt/ranges.h>

#include <array>

#include "mpi_comm/comm_error.h"

namespace skep {
namespace {

constexpr std::array<std::string_view, 4> names{"all_reduce", "reduce_scatter", "all_gather",
                                                "broadcast"};

}  // namespace

std::string_view name_of(Collective collective) {
  return names[static_cast<std::size_t>(collective)];
}

const std::vector<Collective>& all_collectives() {
  static const std::vector<Collective> all{Collective::all_reduce, Collective::reduce_scatter,
                                           Collective::all_gather, Collective::broadcast};
  return all;
}

Collective find_collective(std::string_view name) {
  for (const Collective collective : all_collectives())
    if (name_of(collective) == name) return collective;
  comm_fail(CommFailure::usage, "unknown collective \"{}\": choose one of {}", name,
            fmt::join(names, ", "));
}

Plan plan_of(const Topology& topology, Collective collective, const Place& at, std::size_t count) {
  switch (collective) {
    case Collective::all_reduce:
      return topology.all_reduce(at, count);
    case Collective::reduce_scatter:
      return topology.reduce_scatter(at, count);
    case Collective::all_gather: {
      std::vector<std::size_t> counts;
      for (const Range& range : parts_of(count, topology.group(at).size()))
        counts.push_back(range.size());
      return topology.all_gather(at, counts);
    }
    case Collective::broadcast:
      return topology.broadcast(at, topology.group(at).ranks.front(), count);
  }
  return {};
}

std::vector<Plan> plans_of_all(const Topology& topology, Collective collective, Place at,
                               std::size_t count) {
  std::vector<Plan> plans;
  for (at.rank = 0; at.rank < at.size; ++at.rank)
    plans.push_back(plan_of(topology, collective, at, count));
  return plans;
}

}  // namespace skep
