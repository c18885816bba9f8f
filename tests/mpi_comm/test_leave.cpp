// How runs end: one line on stderr, one exit code, everybody gone within seconds.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "ending.h"

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using skep::Ending;
using skep::watch;

namespace {

Ending mpirun(int ranks, const std::string& how) {
  return watch(fmt::format("{} -np {} {} {}", MPIEXEC, ranks, PROGRAM, how));
}

}  // namespace

TEST_CASE("leave: one rank fails while the others wait", "[leave]") {
  for (const char* how : {"one", "in_flight"}) {
    CAPTURE(how);
    const Ending ending = mpirun(3, how);
    CHECK(ending.exit_code == 3);
    REQUIRE(ending.lines.size() == 1);
    CHECK_THAT(ending.lines[0], StartsWith("rank 1 (") && EndsWith("): out of honey"));
    CHECK(ending.seconds < 10);
  }
}

TEST_CASE("leave: below another rank's unfinished line", "[leave]") {
  const Ending ending = mpirun(2, "mid_line");
  REQUIRE(ending.lines.size() == 1);
  CHECK_THAT(ending.lines[0], StartsWith("rank 1 ("));
}

TEST_CASE("leave: one rank fails while the others compute", "[leave]") {
  const Ending ending = mpirun(3, "busy");
  CHECK(ending.exit_code == 3);
  REQUIRE(ending.lines.size() == 1);
  CHECK_THAT(ending.lines[0], StartsWith("rank 1 ("));
  CHECK(ending.seconds < 10);
}

TEST_CASE("leave: all ranks fail alike and one speaks for them", "[leave]") {
  for (const int ranks : {2, 3, 7}) {
    CAPTURE(ranks);
    const Ending ending = mpirun(ranks, "all");
    CHECK(ending.exit_code == 3);
    REQUIRE(ending.lines.size() == 1);
    CHECK_THAT(ending.lines[0],
               StartsWith("rank 0 (") && Contains("no such hive (the same on rank"));
    CHECK(ending.seconds < 10);
  }
}

// Rank 1 has spoken by then, unless the machine is busy.
TEST_CASE("leave: a rank that fails after another has spoken adds nothing", "[leave]") {
  const Ending ending = mpirun(3, "late");
  CHECK(ending.exit_code == 3);
  REQUIRE(ending.lines.size() == 1);
  CHECK_THAT(ending.lines[0], Contains("): out of honey (the same on rank"));
  CHECK(ending.seconds < 10);
}

TEST_CASE("leave: all ranks fail with messages under way", "[leave]") {
  const Ending ending = mpirun(4, "all_in_flight");
  CHECK(ending.exit_code == 3);
  REQUIRE(ending.lines.size() == 1);
  CHECK_THAT(ending.lines[0], StartsWith("rank 0 (") && Contains("): out of honey"));
}

TEST_CASE("leave: ranks fail with messages under way that nobody takes", "[leave]") {
  const Ending ending = mpirun(4, "stranded");
  CHECK(ending.exit_code == 3);
  REQUIRE(ending.lines.size() == 1);
  CHECK_THAT(ending.lines[0], StartsWith("rank 1 (") && EndsWith("): out of honey"));
  CHECK(ending.seconds < 10);
}

TEST_CASE("leave: of ranks that fail differently the lowest speaks", "[leave]") {
  const Ending ending = mpirun(3, "different");
  CHECK(ending.exit_code == 3);
  REQUIRE(ending.lines.size() == 1);
  CHECK_THAT(ending.lines[0], StartsWith("rank 1 (") && EndsWith("): bee 1"));
}

TEST_CASE("leave: ranks that disagree about a count end with a word about it", "[leave]") {
  const Ending ending = mpirun(3, "count");
  CHECK(ending.exit_code == 1);
  REQUIRE(ending.lines.size() == 1);
  CHECK_THAT(ending.lines[0], Contains("the ranks disagree about collective #0: ") &&
                                  Contains("of 100 f32") &&
                                  Contains("rank 1 starts all_reduce of 107 f32"));
}

TEST_CASE("leave: agreed ends", "[leave]") {
  const Ending disk = mpirun(3, "agree");
  CHECK(disk.exit_code == 5);
  REQUIRE(disk.lines.size() == 1);
  CHECK_THAT(disk.lines[0], StartsWith("rank 2 (") && EndsWith("): disk of rank 2 is full"));

  const Ending stop = mpirun(3, "leave");
  CHECK(stop.exit_code == 75);
  REQUIRE(stop.lines.size() == 1);
  CHECK_THAT(stop.lines[0], StartsWith("rank 0 (") && EndsWith("): checkpointed"));

  const Ending well = mpirun(3, "well");
  CHECK(well.exit_code == 0);
  CHECK(well.lines.empty());
}

TEST_CASE("leave: without mpirun", "[leave]") {
  const std::string program = PROGRAM;
  const Ending error = watch(program + " all");
  CHECK(error.exit_code == 3);
  REQUIRE(error.lines.size() == 1);
  CHECK_THAT(error.lines[0], EndsWith("): no such hive"));
  CHECK(watch(program + " leave").exit_code == 75);
  CHECK(watch(program + " well").exit_code == 0);

  const Ending singleton = watch("SLURM_STEP_NUM_TASKS=4 " + program + " well");
  CHECK(singleton.exit_code == 2);
  REQUIRE(singleton.lines.size() == 1);
  CHECK_THAT(singleton.lines[0], Contains("srun --mpi=pmix"));
}
