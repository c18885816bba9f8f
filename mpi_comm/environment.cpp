#include "mpi_comm/environment.h"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/leave.h"
#include "mpi_comm/mpi_check.h"

namespace skep {
namespace {

// A positive number in an environment variable, or 0.
int read_number(const char* text) {
  int value = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), value);
  return value;
}

// MPI's own waiting calls spin unless told before MPI_Init; with more ranks than processors that
// costs milliseconds a message. A setting of the user's stays.
void let_mpi_yield() {
  const int local_ranks = read_number(std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE"));
  if (local_ranks > sysconf(_SC_NPROCESSORS_ONLN)) setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

Environment::Environment(int& argc, char**& argv) : host_(host_name()) {
  let_mpi_yield();
  int provided = 0;
  MPI_CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided));
  MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  prepare_to_leave();
  if (provided < MPI_THREAD_FUNNELED)
    comm_fail(CommFailure::usage,
              "this MPI library gives thread level {} only; MPI_THREAD_FUNNELED ({}) is needed",
              provided, MPI_THREAD_FUNNELED);
  const std::string problem = find_singletons(size_, [](const char* name) { return getenv(name); });
  if (!problem.empty()) comm_fail(CommFailure::usage, "{}", problem);
  find_local_ranks();
}

Environment::~Environment() {
  if (std::uncaught_exceptions() > 0) return;
  MPI_Finalize();  // nothing can be thrown from here, and nothing is left to be done about it
}

void Environment::find_local_ranks() {
  MPI_Comm local = MPI_COMM_NULL;
  MPI_CHECK(
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local));
  MPI_CHECK(MPI_Comm_rank(local, &local_rank_));
  MPI_CHECK(MPI_Comm_size(local, &local_size_));
  // Launchers bind each rank to processors of its own: only the union says how many there are.
  cpu_set_t processors;
  CPU_ZERO(&processors);
  sched_getaffinity(0, sizeof processors, &processors);
  MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &processors, sizeof processors, MPI_BYTE, MPI_BOR, local));
  local_processors_ = CPU_COUNT(&processors);
  // The first rank of a host stands for it.
  int first = rank_;
  MPI_CHECK(MPI_Bcast(&first, 1, MPI_INT, 0, local));
  std::vector<int> first_ranks(static_cast<std::size_t>(size_));
  MPI_CHECK(MPI_Allgather(&first, 1, MPI_INT, first_ranks.data(), 1, MPI_INT, MPI_COMM_WORLD));
  hosts_ = number_hosts(first_ranks);
  MPI_CHECK(MPI_Comm_free(&local));
}

bool mpi_takes_device_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_CHECK(MPI_Get_library_version(text.data(), &length));
  const std::string whole(text.data(), static_cast<std::size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

std::vector<int> number_hosts(std::span<const int> first_ranks) {
  std::vector<int> known, numbers;
  for (const int first : first_ranks) {
    const auto found = std::find(known.begin(), known.end(), first);
    numbers.push_back(static_cast<int>(found - known.begin()));
    if (found == known.end()) known.push_back(first);
  }
  return numbers;
}

std::string find_singletons(int mpi_size, const ReadVariable& read) {
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}) {
    const int launched = read_number(read(name));
    if (launched > mpi_size)
      return fmt::format(
          "the launcher started {} processes ({}) but MPI connects only {}: each would run alone. "
          "Under Slurm use `srun --mpi=pmix`; otherwise use the mpirun of the MPI library this "
          "program was built with",
          launched, name, mpi_size);
  }
  return {};
}

}  // namespace skep
