#pragma once
// mpirun can start ranks with different command lines. A run needs all of them to mean the same:
// found at the start, it is one line that names the setting; found later, ranks that wait for each
// other.
#include "mpi_comm/communicator.h"
#include "train/config.h"
#include "train/placement.h"

namespace skep {

/// Why the ranks cannot train together, or nothing; the same text on every rank. Collective.
std::string find_different_start(const Config& config, const std::vector<Placement>& ranks,
                                 Communicator& comm);

}  // namespace skep
