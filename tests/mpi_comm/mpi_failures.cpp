// Fails in the way named on the command line; leave_test.cpp watches.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/leave.h"
#include "mpi_comm/mpi_communicator.h"

namespace skep {
namespace {

using namespace std::chrono_literals;

void run(int argc, char** argv) {
  Environment environment(argc, argv);
  MpiCommunicator comm(environment);
  const std::string how = argc > 1 ? argv[1] : "";
  const int rank = comm.rank();
  if (how == "one" && rank == 1) throw std::runtime_error("out of honey");
  if (how == "mid_line") {
    if (rank == 0) std::fputs("half a line", stderr);
    if (rank == 1) begin_message_on_new_line();
    comm.barrier();
    if (rank == 1) throw std::runtime_error("out of honey");
  }
  if (how == "all") throw std::runtime_error("no such\nhive");
  if (how == "different" && rank > 0) {
    std::this_thread::sleep_for(rank == 1 ? 200ms : 0ms);
    throw std::runtime_error("bee " + std::to_string(rank));
  }
  if (how == "busy") {
    if (rank == 1) throw std::runtime_error("out of honey");
    std::this_thread::sleep_for(60s);  // computing, not talking to MPI
  }
  if (how == "late") {
    std::signal(SIGTERM, SIG_IGN);  // as a program that saves before it ends
    if (rank == 0) std::this_thread::sleep_for(800ms);
    throw std::runtime_error("out of honey");
  }
  if (how == "count") {
    std::vector<float> data(rank == 1 ? 107 : 100);
    for (int i = 0; i < 3; ++i) comm.all_reduce(data);
  }
  std::vector<float> data(1 << 20);
  const auto start = [&] {
    return comm.start(default_topology().all_reduce(comm.place(), data.size()), data);
  };
  if (how == "in_flight" || how == "all_in_flight") {
    const Pending pending = start();
    if (rank == 1 || how == "all_in_flight") throw std::runtime_error("out of honey");
  }
  if (how == "stranded") {  // the others never get to the collective
    if (rank == 0) std::this_thread::sleep_for(60s);
    const Pending first = start(), second = start();
    throw std::runtime_error("out of honey");
  }
  if (how == "agree") agree(rank == 2 ? 5 : 0, "disk of rank 2 is full");
  if (how == "well") agree(0, "");
  if (how == "leave") leave_together(75, "checkpointed");
  comm.barrier();
}

}  // namespace
}  // namespace skep

int main(int argc, char** argv) {
  try {
    skep::run(argc, argv);
  } catch (const skep::CommError& error) {
    skep::abort_all(error.exit_code(), error.what());
  } catch (const std::exception& error) {
    skep::abort_all(3, error.what());
  }
}
