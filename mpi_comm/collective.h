#pragma once
// The collectives by name, and their plans for all ranks at once: what pricing, drawing and
// measuring start from.
#include <cstddef>
#include <string_view>
#include <vector>

#include "mpi_comm/topology.h"

namespace skep {

enum class Collective { all_reduce, reduce_scatter, all_gather, broadcast };

std::string_view name_of(Collective collective);  // "all_reduce", …
/// All of them, in the order of the enumeration.
const std::vector<Collective>& all_collectives();
/// CommError(usage) listing the names for an unknown one.
Collective find_collective(std::string_view name);

/// One rank's plan on a buffer of `count` elements. all_gather: everybody contributes its part() of
/// the buffer. broadcast: from the first rank of the group.
Plan plan_of(const Topology& topology, Collective collective, const Place& at, std::size_t count);

/// The plans of the ranks 0 … at.size - 1; at.rank does not matter.
std::vector<Plan> plans_of_all(const Topology& topology, Collective collective, Place at,
                               std::size_t count);

}  // namespace skep
