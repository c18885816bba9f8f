#include "mpi_comm/mpi_communicator.h"

#include "mpi_comm/fingerprint_channel.h"
#include "mpi_comm/mpi_transport.h"

namespace skep {

MpiCommunicator::MpiCommunicator(const Environment& environment)
    : Communicator(
          make_mpi_transport(environment.oversubscribed() ? Waiting::yield : Waiting::spin),
          make_mpi_fingerprint_channel()) {}

}  // namespace skep
