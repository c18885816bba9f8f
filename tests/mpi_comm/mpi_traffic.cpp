// Ten all_reduces at steps 0 to 9 over the topology named on the command line, with clusters of 2
// and the host of each rank as a digit of the second argument: `mpi_traffic hierarchical 0011`.
// test_mpi_traffic.cpp counts the bytes with Open MPI's own counters.
#include <exception>
#include <string>
#include <vector>

#include "mpi_comm/leave.h"
#include "mpi_comm/mpi_communicator.h"

int main(int argc, char** argv) {
  try {
    const skep::Environment environment(argc, argv);
    skep::MpiCommunicator comm(environment);
    skep::TopologySettings settings{.cluster_size = 2};
    for (const char digit : std::string(argc > 2 ? argv[2] : ""))
      settings.hosts.push_back(digit - '0');
    const auto topology = skep::make_topology(argc > 1 ? argv[1] : "", settings);
    std::vector<float> data(1 << 20);
    for (long step = 0; step < 10; ++step)
      comm.all_reduce(data, skep::Combine::sum, {*topology, 3, step});
  } catch (const std::exception& error) {
    skep::abort_all(1, error.what());
  }
}
