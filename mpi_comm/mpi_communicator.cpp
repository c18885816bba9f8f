#include "mpi_comm/mpi_communicator.h"

#include "mpi_comm/fingerprint_channel.h"
#include "mpi_comm/mpi_transport.h"

namespace skep {
namespace {

// What a network of 1 GB/s carries in 16 ms, about the longest that a training step computes
// without looking after its messages.
constexpr std::size_t network_window_bytes = std::size_t{16} << 20;

}  // namespace

MpiCommunicator::MpiCommunicator(const Environment& environment)
    : Communicator(
          make_mpi_transport(environment.oversubscribed() ? Waiting::yield : Waiting::spin),
          make_mpi_fingerprint_channel()) {
  if (environment.several_hosts()) set_window(network_window_bytes);
}

}  // namespace skep
