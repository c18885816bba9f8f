// The check for N runs of one rank, with made-up environments.
#include "mpi_comm/environment.h"

#include <catch2/catch.hpp>
#include <map>

using namespace skep;
using Catch::Matchers::Contains;

namespace {

std::string problem(int mpi_size, const std::map<std::string, const char*>& variables) {
  return find_singletons(mpi_size, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second;
  });
}

}  // namespace

TEST_CASE("environment: hosts are numbered in the order of their first ranks", "[environment]") {
  using Numbers = std::vector<int>;
  CHECK(number_hosts(Numbers{0}) == Numbers{0});
  CHECK(number_hosts(Numbers{0, 0, 2, 2}) == Numbers{0, 0, 1, 1});
  CHECK(number_hosts(Numbers{0, 1, 0, 3, 1}) == Numbers{0, 1, 0, 2, 1});
}

TEST_CASE("environment: a launcher that says more ranks than MPI is a mistake", "[environment]") {
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}) {
    CHECK_THAT(problem(1, {{name, "4"}}), Contains(name) && Contains("4 processes") &&
                                              Contains("only 1") && Contains("srun --mpi=pmix"));
    CHECK(problem(4, {{name, "4"}}).empty());
    CHECK(problem(1, {{name, "1"}}).empty());
    CHECK(problem(1, {{name, "four"}}).empty());
  }
  CHECK(problem(1, {}).empty());
  CHECK(problem(1, {{"SLURM_NTASKS", "4"}}).empty());  // an allocation is not a launch
}
