// A rank of the shipped train binary stops: comm.timeout ends the run with code 6, a line that
// names the rank, and records that `inspect flight` reads.
#include <signal.h>

#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "program.h"

using namespace skep;
using namespace skep::test;

namespace {

// The process id that a rank's heartbeat gives, once it trains; 0 if it never does.
int pid_of_rank(const std::string& run, int rank) {
  const std::string path = run + "/heartbeat.rank-" + std::to_string(rank);
  for (int i = 0; i < 600; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (!std::filesystem::exists(path)) continue;
    const auto beat = nlohmann::json::parse(read_file(path), nullptr, false);
    if (beat.is_object() && beat["activity"] != "") return beat["pid"];
  }
  return 0;
}

}  // namespace

TEST_CASE("train: ranks that wait for a killed one leave their records") {
  const ScratchFolder scratch;
  auto running = std::async(std::launch::async, [&] {
    return run_ranked(3, small_run(scratch, "run", 1000000), scratch);
  });
  const std::string run = scratch.path + "/run";
  const int pid = pid_of_rank(run, 1);
  if (pid > 0) kill(pid, SIGKILL);
  const Ending ending = running.get();
  REQUIRE(pid > 0);
  CHECK(ending.code == 137);
  const Ending merged = run_program(std::string(SKEP_BINARIES) + "/inspect flight " + run, scratch);
  INFO(merged.out);
  CHECK(merged.code == 0);
  CHECK_THAT(merged.out, Catch::StartsWith("no record of rank 1\n"));
  CHECK_THAT(merged.out, Catch::Matches("[\\s\\S]*(all_reduce|all_gather|broadcast) of [\\s\\S]*"));
}

TEST_CASE("train: comm.timeout ends a run in which a rank has stopped") {
  const ScratchFolder scratch;
  auto running = std::async(std::launch::async, [&] {
    return run_ranked(3, small_run(scratch, "run", 1000000) + " --comm.timeout 5", scratch);
  });
  const std::string run = scratch.path + "/run";
  const int pid = pid_of_rank(run, 1);
  if (pid > 0) kill(pid, SIGSTOP);
  const Ending ending = running.get();
  INFO(ending.err);
  REQUIRE(pid > 0);
  CHECK(ending.code == 6);
  const auto lines = lines_of(ending.err);
  REQUIRE(lines.size() >= 2);  // the warning, then the end
  CHECK_THAT(lines.back(), Catch::StartsWith("rank 0 (") && Catch::Contains(" in all_"));
  CHECK_THAT(lines.back(), Catch::Contains("the process of rank 1 (") &&
                               Catch::Contains(", pid " + std::to_string(pid)));
  CHECK(std::filesystem::exists(run + "/flight.rank-0.json"));
  CHECK(std::filesystem::exists(run + "/flight.rank-2.json"));
  const Ending merged = run_program(std::string(SKEP_BINARIES) + "/inspect flight " + run, scratch);
  CHECK(merged.code == 0);
  CHECK_THAT(merged.out, Catch::StartsWith("no record of rank 1\n"));
}
