// Ten all_reduces over the topology named on the command line; mpi_traffic_test.cpp counts the
// bytes with Open MPI's own counters.
#include <exception>
#include <vector>

#include "mpi_comm/leave.h"
#include "mpi_comm/mpi_communicator.h"

int main(int argc, char** argv) {
  try {
    const skep::Environment environment(argc, argv);
    skep::MpiCommunicator comm(environment);
    const auto topology = skep::make_topology(argc > 1 ? argv[1] : "");
    std::vector<float> data(1 << 20);
    for (int i = 0; i < 10; ++i) comm.all_reduce(data, skep::Combine::sum, *topology);
  } catch (const std::exception& error) {
    skep::abort_all(1, error.what());
  }
}
