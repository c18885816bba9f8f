// The same collectives under mpirun, and MPI_Allreduce as the witness. Exit code 0 if all is well.
#include <fmt/ranges.h>
#include <mpi.h>

#include <cmath>
#include <exception>

#include "collective_cases.h"
#include "mpi_comm/leave.h"
#include "mpi_comm/mpi_communicator.h"
#include "mpi_comm/topologies/automatic.h"
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

// Everything again with MPI's own collectives, in whole calls and in calls of 7 elements.
Wrong check_library(Communicator& comm) {
  Wrong wrong;
  const auto add = [&](const Wrong& found, const char* how) {
    for (const std::string& text : found) wrong.push_back(fmt::format("by MPI, {}: {}", how, text));
  };
  comm.set_carrier(Carrier::mpi);
  add(check_tiny(comm), "whole");
  add(check_scalars(comm), "whole");
  add(check_background(comm), "in the background");
  comm.set_library_chunk(7);
  add(check_tiny(comm), "in chunks");
  add(check_background(comm), "in the background, in chunks");
  comm.set_library_chunk(Executor::largest_chunk);
  for (const std::size_t count : {1000, 100003, 3000001}) {
    std::vector<float> data;
    for (std::size_t i = 0; i < count; ++i)
      data.push_back(std::sin(static_cast<float>(i * 7 + static_cast<std::size_t>(comm.rank()))));
    comm.all_reduce(data, Combine::sum);
    if (!same_everywhere(comm, data))
      wrong.push_back(fmt::format("MPI's sums of {} floats are not bit-identical", count));
  }
  if (comm.size() > 1 && comm.traffic().by_topology()[std::string(library_name)].collectives == 0)
    wrong.push_back("nothing was handed to MPI");
  comm.set_carrier(Carrier::plans);
  return wrong;
}

Wrong check_automatic(Communicator& comm) {
  const Calibration calibration = calibrate(comm);
  Wrong wrong;
  const auto [alpha, beta, gamma] = calibration.costs;
  if (!(alpha + beta > 0) || !std::isfinite(alpha + beta + gamma))
    wrong.push_back("no costs were found: " + to_string(calibration.costs));
  const Automatic topology(calibration.costs);
  comm.set_carrier(Carrier::automatic, calibration);
  for (const std::size_t count : {1, 1000, 300000}) {
    std::vector<float> data(count, 1.0f);
    comm.all_reduce(data, Combine::sum, topology);
    if (data != std::vector<float>(count, static_cast<float>(comm.size())))
      wrong.push_back(fmt::format("automatic: a wrong sum of {} floats", count));
  }
  comm.set_carrier(Carrier::plans);
  return wrong;
}

int run(int argc, char** argv) {
  const Environment environment(argc, argv);
  MpiCommunicator comm(environment);
  Wrong wrong = check_everything(comm);
  for (const auto check : {compare_with_mpi, check_library, check_automatic})
    for (const std::string& more : check(comm)) wrong.push_back(more);
  if (environment.local_size() != comm.size() || environment.local_rank() != comm.rank())
    wrong.push_back("one host, but local ranks differ from ranks");
  if (environment.hosts() != std::vector<int>(static_cast<std::size_t>(comm.size()), 0))
    wrong.push_back("one host, but not all ranks are on host 0");
  agree(wrong.empty() ? 0 : 1, fmt::format("{}", fmt::join(wrong, "; ")));
  if (comm.rank() == 0)
    fmt::print("{} ranks, {} processors: all well\n{}\n", comm.size(),
               environment.local_processors(), to_string(comm.traffic()));
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
