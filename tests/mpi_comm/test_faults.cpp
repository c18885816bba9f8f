// One rank goes wrong: the run names the rank and the collective, ends everywhere with one code and
// within its limit, and leaves the records of what happened. Then the same with ranks as threads.
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <mutex>

#include "ending.h"
#include "fault_cases.h"
#include "mpi_comm/comm_error.h"
#include "mpi_comm/thread_communicator.h"
#include "mpi_comm/watchdog.h"

using namespace skep;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

struct Folder {
  Folder()
      : path((std::filesystem::temp_directory_path() / fmt::format("skep-faults-{}", getpid()))
                 .string()) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  bool has(const std::string& name) const { return std::filesystem::exists(path + "/" + name); }
  std::string path;
};

Ending mpirun(int ranks, const std::string& how, const std::string& check, const Folder& folder) {
  return watch(
      fmt::format("{} -np {} {} {} {} {}", MPIEXEC, ranks, PROGRAM, how, check, folder.path));
}

struct Mismatch {
  std::string how, ours, wrong;  // the calls of the other ranks and of rank 1
};

const std::vector<Mismatch> mismatches = {
    {"count", "all_reduce of 100 f32 (sum, ring, step 7)",
     "all_reduce of 107 f32 (sum, ring, step 7)"},
    {"type", "all_reduce of 100 f32 (sum, ring, step 7)",
     "all_reduce of 50 f64 (sum, ring, step 7)"},
    {"operation", "all_reduce of 100 f32 (sum, ring, step 7)",
     "all_reduce of 100 f32 (max, ring, step 7)"},
    {"order", "all_reduce of 100 f32 (sum, ring, step 7)",
     "broadcast of 100 f32 from rank 0 (ring, step 7)"},
    {"topology", "all_reduce of 100 f32 (sum, ring, step 7)",
     "all_reduce of 100 f32 (sum, tree, step 7)"},
    {"step", "all_reduce of 100 f32 (sum, ring, step 7)",
     "all_reduce of 100 f32 (sum, ring, step 8)"},
    {"root", "broadcast of 100 f32 from rank 0 (full_mesh, step 0)",
     "broadcast of 100 f32 from rank 1 (full_mesh, step 0)"},
};

// Some two ranks, or with full all of them.
void check_line(const std::string& line, const Mismatch& c, int ranks, const std::string& check) {
  CHECK_THAT(line, Contains("the ranks disagree about collective #5: "));
  CHECK_THAT(line, Contains("rank 1 starts " + c.wrong));
  if (check == "basic" || ranks == 2)
    CHECK_THAT(line, Contains("rank 0 starts " + c.ours) || Contains("rank 2 starts " + c.ours));
  else
    CHECK_THAT(line, Contains(fmt::format("ranks 0,2{} start {}", ranks == 4 ? ",3" : "", c.ours)));
}

}  // namespace

TEST_CASE("faults: a rank that makes another call is named with both calls", "[mpi]") {
  const Folder folder;
  for (const std::string check : {"basic", "full"})
    for (const int ranks : {2, 3, 4})
      for (const Mismatch& c : mismatches) {
        // Three runs a kind tell as much as six.
        if ((check == "full") != (ranks == 3) && c.how != "order" && c.how != "type") continue;
        const Ending ending = mpirun(ranks, c.how, check, folder);
        CAPTURE(c.how, ranks, check, ending.lines);
        CHECK(ending.exit_code == 1);
        REQUIRE(ending.lines.size() == 1);
        check_line(ending.lines[0], c, ranks, check);
        CHECK(ending.seconds < 10);
        // Ranks that failed by themselves have left their records, for `inspect flight`.
        CHECK((folder.has("flight.rank-0.json") || folder.has("flight.rank-1.json") ||
               folder.has("flight.rank-2.json")));
      }
}

TEST_CASE("faults: a rank that does not come is named with what it did", "[mpi]") {
  for (const std::string check : {"basic", "full"})
    for (const int ranks : {2, 3, 4}) {
      const Folder folder;
      const Ending ending = mpirun(ranks, "sleep", check, folder);
      CAPTURE(ranks, check, ending.lines);
      CHECK(ending.exit_code == 6);
      REQUIRE(ending.lines.size() >= 2);  // the warning, then the end
      CHECK_THAT(ending.lines[0], StartsWith("rank 0 (") && Contains("at 3 s the run ends"));
      CHECK_THAT(ending.lines.back(),
                 StartsWith("rank 0 (") && Contains("no progress for 3 s: rank"));
      CHECK_THAT(ending.lines.back(),
                 Contains(ranks == 2   ? "rank 0 waits in all_reduce #5 (ring, "
                          : ranks == 3 ? "ranks 0,2 wait in all_reduce #5 (ring, "
                                       : "ranks 0,2,3 wait in all_reduce #5 (ring, "));
      CHECK_THAT(ending.lines.back(), Contains("; rank 1 was last in counting bees;"));
      for (int rank = 0; rank < ranks; ++rank)
        CHECK(folder.has(fmt::format("flight.rank-{}.json", rank)));
      CHECK(ending.seconds < 15);
    }
}

TEST_CASE("faults: a rank that throws or is killed ends all", "[mpi]") {
  for (const int ranks : {2, 3, 4}) {
    const Folder folder;
    CAPTURE(ranks);
    const Ending thrown = mpirun(ranks, "throw", "basic", folder);
    CHECK(thrown.exit_code == 3);
    REQUIRE(thrown.lines.size() == 1);
    CHECK_THAT(thrown.lines[0], StartsWith("rank 1 (") && EndsWith("): out of honey"));
    CHECK(thrown.seconds < 10);

    const Ending killed = mpirun(ranks, "kill", "basic", folder);
    CHECK(killed.exit_code == 137);
    CHECK(killed.seconds < 10);
  }
}

TEST_CASE("faults: where nothing is wrong nobody says so", "[mpi]") {
  for (const std::string check : {"basic", "full"}) {
    const Folder folder;
    const Ending ending = mpirun(4, "well", check, folder);
    CHECK(ending.exit_code == 0);
    CHECK(ending.lines.empty());
    CHECK(std::filesystem::is_empty(folder.path));  // no pulse is left behind
  }
}

TEST_CASE("faults: threads that make another call are named with both calls", "[thread]") {
  for (const Check check : {Check::basic, Check::full})
    for (const int ranks : {2, 3, 4})
      for (const Mismatch& c : mismatches) {
        CAPTURE(c.how, ranks);
        std::string line;
        try {
          run_ranks(ranks, [&](Communicator& comm) {
            comm.set_check(check);
            go_wrong(comm, c.how);
          });
        } catch (const CommError& error) {
          line = error.what();
          CHECK(error.exit_code() == 1);
        }
        check_line(line, c, ranks, check == Check::full ? "full" : "basic");
      }
}

TEST_CASE("faults: ranks that see other groups are named", "[thread]") {
  // With two ranks, rank 1 believes to be alone: nobody tells rank 0 anything, and it waits.
  for (const int ranks : {3, 4, 5}) {
    CAPTURE(ranks);
    CHECK_THROWS_WITH(run_ranks(ranks, [](Communicator& comm) { go_wrong(comm, "group"); }),
                      Contains("#5: rank 0 starts") || Contains("#5: rank 1 starts"));
  }
}

TEST_CASE("faults: with full no data moves before all agree", "[thread]") {
  std::mutex mutex;
  std::vector<std::uint64_t> moved;
  const auto disagree = [&] {
    run_ranks(3, [&](Communicator& comm) {
      comm.set_check(Check::full);
      std::vector<float> data(comm.rank() == 1 ? 107 : 100);
      try {
        comm.all_reduce(data);
      } catch (const CommError&) {
        const std::lock_guard lock(mutex);
        moved.push_back(comm.traffic().total().bytes_sent);
        throw;
      }
    });
  };
  CHECK_THROWS_AS(disagree(), CommError);
  CHECK(!moved.empty());
  for (const std::uint64_t bytes : moved) CHECK(bytes == 0);
}
