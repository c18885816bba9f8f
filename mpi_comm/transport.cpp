#include "mpi_comm/transport.h"

#include "mpi_comm/comm_error.h"

namespace skep {

void Transport::call(const LibraryCall&) {
  comm_fail(CommFailure::usage, "this transport has no collectives of its own: use plans");
}

std::vector<Ticket> Transport::begin_call(const LibraryCall& call) {
  this->call(call);
  return {};
}

}  // namespace skep
