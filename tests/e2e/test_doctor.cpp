// train --doctor as a user starts it: what it finds, and how it ends.
#include <sched.h>

#include <catch2/catch.hpp>

#include "program.h"

using namespace skep;
using namespace skep::test;
using Catch::Matchers::Contains;

namespace {

bool has_fix(const Ending& ending) {
  for (const std::string& line : lines_of(ending.out))
    if (line.starts_with("FIX")) return true;
  return false;
}

std::string doctor_at(const std::string& run_folder) {
  return "train --doctor --run.dir " + run_folder;
}

}  // namespace

TEST_CASE("doctor: at 1 and 3 ranks, code 0 unless something is to be fixed") {
  const ScratchFolder scratch;
  const int ranks = GENERATE(1, 3);
  const Ending ending = run_ranked(ranks, doctor_at(scratch.path + "/run"), scratch);
  INFO(ending.out << ending.err);
  CHECK(ending.err.empty());
  CHECK(ending.code == (has_fix(ending) ? 2 : 0));
  const std::vector<std::string> lines = lines_of(ending.out);
  CHECK(lines.size() >= 13);
  for (const std::string& line : lines) {
    INFO(line);
    const bool ok = line.starts_with("OK    ");
    CHECK((ok || line.starts_with("WARN  ") || line.starts_with("FIX   ")));
    CHECK((line.find(" -> ") == std::string::npos) == ok);
  }
  CHECK_THAT(ending.out, Contains("mpi: Open MPI v") &&
                             Contains(ranks == 1 ? ", 1 rank on " : ", 3 ranks on "));
  CHECK_THAT(ending.out, Contains("off, because "));
  CHECK_FALSE(std::filesystem::exists(scratch.path + "/run"));  // it looks and leaves no trace
}

TEST_CASE("doctor: a FIX ends all ranks with code 2 and names what is wrong") {
  const ScratchFolder scratch;
  write_file(scratch.path + "/file", "in the way");
  const int ranks = GENERATE(1, 3);
  const Ending ending = run_ranked(ranks, doctor_at(scratch.path + "/file/run"), scratch);
  INFO(ending.out << ending.err);
  CHECK(ending.code == 2);
  CHECK(ending.err.empty());
  CHECK_THAT(ending.out, Contains("FIX   disk: ") && Contains("/file is not a folder") &&
                             Contains(" -> train --run.dir "));
}

TEST_CASE("doctor: ranks without room to run beside each other") {
  const ScratchFolder scratch;
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  int first = 0;
  while (!CPU_ISSET(first, &set)) ++first;
  const std::string two = "taskset -c " + std::to_string(first) + " " + MPIEXEC +
                          " -q --bind-to none -np 2 " + SKEP_BINARIES + "/" +
                          doctor_at(scratch.path + "/run");
  const Ending sharing = run_program(two, scratch);
  INFO(sharing.out);
  CHECK_THAT(sharing.out, Contains("WARN  slots: 2 ranks on ") &&
                              Contains("share 1 CPU: no faster than 1 rank"));
  const Ending crowded = run_program(two + " --run.threads 2", scratch);
  INFO(crowded.out);
  CHECK(crowded.code == 2);
  CHECK_THAT(crowded.out, Contains("FIX   threads: 4 threads of 2 ranks on 1 CPU") &&
                              Contains("-> export OMP_NUM_THREADS=1"));
  const Ending spinning = run_program("env OMPI_MCA_mpi_yield_when_idle=0 " + two, scratch);
  INFO(spinning.out);
  CHECK(spinning.code == 2);
  CHECK_THAT(spinning.out, Contains("-> export OMPI_MCA_mpi_yield_when_idle=1"));
}

TEST_CASE("doctor: a model that does not fit, and wrong settings") {
  const ScratchFolder scratch;
  const Ending ending = run_program(
      std::string(SKEP_BINARIES) + "/" + doctor_at(scratch.path + "/run") + " --model.width 100000",
      scratch);
  INFO(ending.out);
  CHECK(ending.code == 2);
  CHECK_THAT(ending.out, Contains("FIX   memory: not enough"));
  CHECK(run_program(std::string(SKEP_BINARIES) + "/train --doctor --run.seeds 1", scratch).code ==
        2);
}
