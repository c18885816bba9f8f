// The same collectives under mpirun, and MPI_Allreduce as the witness. Exit code 0 if all is well.
#include <fmt/ranges.h>
#include <mpi.h>

#include <cmath>
#include <exception>

#include "collective_cases.h"
#include "mpi_comm/leave.h"
#include "mpi_comm/mpi_communicator.h"
#include "topology_cases.h"

namespace skep {
namespace {

Wrong compare_with_mpi(Communicator& comm) {
  Wrong wrong;
  const int count = 100003;
  for (const auto& [name, topology] : topology_cases(comm.size())) {
    if (topology->reach(comm.size()) == Reach::partial) continue;  // no groups in MPI_Allreduce
    std::vector<float> data, witness(count);
    for (int i = 0; i < count; ++i)
      data.push_back(std::sin(static_cast<float>(i * 7 + comm.rank() * 13)));
    MPI_Allreduce(data.data(), witness.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    comm.all_reduce(data, Combine::sum, *topology);
    // Both add `size` values below 1 in some order: at most size roundings of sums below size.
    const float tolerance = static_cast<float>(comm.size() * comm.size()) * 6e-8f;
    float worst = 0;
    for (std::size_t i = 0; i < data.size(); ++i)
      worst = std::max(worst, std::abs(data[i] - witness[i]));
    if (!(worst <= tolerance)) wrong.push_back(fmt::format("{} is off by {}", name, worst));
  }
  return wrong;
}

int run(int argc, char** argv) {
  const Environment environment(argc, argv);
  MpiCommunicator comm(environment);
  Wrong wrong = check_everything(comm);
  for (const std::string& more : compare_with_mpi(comm)) wrong.push_back(more);
  if (environment.local_size() != comm.size() || environment.local_rank() != comm.rank())
    wrong.push_back("one host, but local ranks differ from ranks");
  if (environment.hosts() != std::vector<int>(static_cast<std::size_t>(comm.size()), 0))
    wrong.push_back("one host, but not all ranks are on host 0");
  agree(wrong.empty() ? 0 : 1, fmt::format("{}", fmt::join(wrong, "; ")));
  if (comm.rank() == 0)
    fmt::print("{} ranks, {} processors: all well\n{}", comm.size(), environment.local_processors(),
               to_string(comm.traffic()));
  return 0;
}

}  // namespace
}  // namespace skep

int main(int argc, char** argv) {
  try {
    return skep::run(argc, argv);
  } catch (const std::exception& error) {
    skep::abort_all(1, error.what());
  }
}
