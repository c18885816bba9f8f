#pragma once
// The communicator of a real run: all ranks of MPI_COMM_WORLD, over point-to-point messages on a
// duplicate of it, so that its messages never meet those of another library.
#include "mpi_comm/communicator.h"
#include "mpi_comm/environment.h"

namespace skep {

class MpiCommunicator : public Communicator {
 public:
  /// Collective. To be destroyed before the environment.
  explicit MpiCommunicator(const Environment& environment);
};

}  // namespace skep
