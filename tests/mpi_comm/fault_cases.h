#pragma once
// Ways in which one rank of several goes wrong, on whatever communicator is given: threads or MPI.
#include <string>

#include "mpi_comm/communicator.h"

namespace skep {

/// All ranks make five calls that fit (#0 to #4); the sixth (#5) is an all_reduce of 100 floats
/// over a ring, in which rank 1 does what `how` says: count, type, operation, order, topology,
/// step, root or group: it makes another call; sleep: it does not come; throw: it fails with "out
/// of honey"; kill: its process ends at once.
void go_wrong(Communicator& comm, const std::string& how);

}  // namespace skep
