// One of several ranks goes wrong in the way named on the command line: mpi_faults HOW CHECK
// FOLDER. test_faults.cpp watches.
#include <exception>

#include "fault_cases.h"
#include "mpi_comm/comm_error.h"
#include "mpi_comm/leave.h"
#include "mpi_comm/mpi_communicator.h"
#include "mpi_comm/watchdog.h"

namespace skep {
namespace {

void run(int argc, char** argv) {
  const Environment environment(argc, argv);
  MpiCommunicator comm(environment);
  const std::string how = argc > 1 ? argv[1] : "", check = argc > 2 ? argv[2] : "";
  comm.set_check(check == "full" ? Check::full : Check::basic);
  WatchdogSettings settings;
  settings.folder = argc > 3 ? argv[3] : ".";
  settings.rank = comm.rank();
  settings.ranks = comm.size();
  settings.limit_seconds = how == "sleep" ? 3 : 60;
  const Watchdog watchdog(comm.recorder(), settings);
  go_wrong(comm, how);
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
