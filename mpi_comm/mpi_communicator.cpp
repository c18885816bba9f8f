#include "mpi_comm/mpi_communicator.h"

#include "mpi_comm/mpi_transport.h"

namespace skep {

MpiCommunicator::MpiCommunicator(const Environment& environment)
    : Communicator(
          make_mpi_transport(environment.oversubscribed() ? Waiting::yield : Waiting::spin)) {}

}  // namespace skep
