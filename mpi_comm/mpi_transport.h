#pragma once
// Messages over MPI's non-blocking point-to-point calls, and MPI's own collectives.
#include <memory>

#include "mpi_comm/transport.h"

namespace skep {

/// Between fruitless tests: try again at once, or let another process run first.
enum class Waiting { spin, yield };

/// Collective: duplicates MPI_COMM_WORLD.
std::unique_ptr<Transport> make_mpi_transport(Waiting waiting);

}  // namespace skep
