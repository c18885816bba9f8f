#pragma once
// The seed of chaotic sharding: one for all ranks, drawn where none is given, and kept, so that a
// chaotic run can be repeated and resumed.
#include <cstdint>
#include <string>

#include "mpi_comm/communicator.h"

namespace skep {

/// Drawn by rank 0 from its clock and the name of its host: from 1 to 2^31, the same on all ranks.
/// Collective.
std::int64_t draw_chaos_seed(Communicator& comm, const std::string& host);

/// The seed by which the run of a checkpoint is dealt; 0 with even sharding, or where there is no
/// checkpoint (an empty path, or a folder without one). Error(data) when its state cannot be read.
std::int64_t saved_chaos_seed(const std::string& checkpoint);

}  // namespace skep
