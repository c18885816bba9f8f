#pragma once
// N ranks as threads of one process, for tests and for looking inside a collective with a debugger.
// Stricter than MPI: a send completes only when its receive is there, so nothing leans on
// buffering, and a message of another type or count than expected is an error at once.
#include <functional>

#include "mpi_comm/communicator.h"

namespace skep {

/// Runs `body` once per rank, each on its own thread, and returns when all have. An exception on
/// one rank ends the others at their next communication and is thrown again here (from the lowest
/// rank, if several fail).
void run_ranks(int ranks, const std::function<void(Communicator&)>& body);

}  // namespace skep
