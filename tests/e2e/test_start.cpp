// How a run introduces itself, and how many threads it takes.
#include <sched.h>

#include <catch2/catch.hpp>

#include "program.h"

using namespace skep;
using namespace skep::test;

namespace {

std::string row_of(const Ending& ending, const std::string& name) {
  for (const std::string& line : lines_of(ending.out))
    if (line.starts_with(name + " ")) return line.substr(10);
  return {};
}

int first_allowed_processor() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) return i;
  return 0;
}

}  // namespace

TEST_CASE("start: the banner tells ranks, threads, model, memory and batch") {
  const ScratchFolder scratch;
  const Ending ending = run_ranked(3, small_run(scratch, "run", 1), scratch);
  INFO(ending.out);
  CHECK_THAT(row_of(ending, "ranks"),
             Catch::StartsWith("3 ranks on ") && Catch::EndsWith(", 1 thread each"));
  CHECK_THAT(row_of(ending, "device"), Catch::StartsWith("cpu, products by ") &&
                                           Catch::Contains(" in fp32; GPU off, because "));
  CHECK(row_of(ending, "batch") == "12 sequences = 3 ranks x 4 micro-batch x 1");
  CHECK(row_of(ending, "run") == scratch.path + "/run");
  const std::string alone =
      run_program(std::string(SKEP_BINARIES) + "/" + small_run(scratch, "one", 1), scratch).out;
  CHECK_THAT(alone, Catch::Contains("ranks     1 rank on ") && Catch::Contains(", 1 thread\n"));
}

TEST_CASE("start: memory in the banner follows from the number of parameters") {
  const ScratchFolder scratch;
  const std::string size = " --model.width 256 --model.context 64";
  const double parameters_lower = 2 * 12.0 * 256 * 256;  // the blocks' matrices alone
  const auto [flags, weight_bytes, state_bytes] = GENERATE(table<std::string, double, double>(
      {{"", 4, 8}, {" --precision.compute bf16", 6, 8}, {" --optim.kind sgd", 4, 4}}));
  const Ending ending = run_ranked(2, small_run(scratch, "run", 0) + size + flags, scratch);
  const std::string memory = row_of(ending, "memory"), model = row_of(ending, "model");
  INFO(model << "\n" << memory);
  const double parameters = std::stod(model.substr(model.rfind(": ") + 2));
  CHECK(parameters > parameters_lower);
  const auto megabytes = [&](const std::string& what) {
    return std::stod(memory.substr(memory.find(what + " ") + what.size() + 1));
  };
  CHECK(megabytes("weights") == Approx(weight_bytes * parameters / 1e6).margin(0.06));
  CHECK(megabytes("gradients") == Approx(4 * parameters / 1e6).margin(0.06));
  CHECK(megabytes("optimizer") == Approx(state_bytes * parameters / 1e6).margin(0.06));
  CHECK(std::stod(memory) == Approx(megabytes("weights") + megabytes("gradients") +
                                    megabytes("optimizer") + megabytes("about"))
                                 .margin(0.21));
}

TEST_CASE("start: threads come from the CPUs a rank may use") {
  const ScratchFolder scratch;
  const std::string train = std::string(SKEP_BINARIES) + "/" + small_run(scratch, "run", 0);
  const auto threads = [&](const std::string& before, const std::string& after = "") {
    const Ending ending = run_program(before + " " + train + after, scratch);
    INFO(ending.out << ending.err);
    REQUIRE(ending.code == 0);
    return row_of(ending, "ranks");
  };
  const std::string pinned = "taskset -c " + std::to_string(first_allowed_processor()) + " ";
  const std::string two = std::string(MPIEXEC) + " -q --bind-to none -np 2";
  // An unset variable leaves the choice to the rank: one CPU is one thread.
  CHECK_THAT(threads("env -u OMP_NUM_THREADS " + pinned), Catch::EndsWith(", 1 thread"));
  CHECK_THAT(threads("env -u OMP_NUM_THREADS " + pinned + two), Catch::Contains("1 thread each"));
  CHECK_THAT(threads("env OMP_NUM_THREADS=3"), Catch::EndsWith(", 3 threads"));
  CHECK_THAT(threads("env OMP_NUM_THREADS=3", " --run.threads 2"), Catch::EndsWith(", 2 threads"));
}

TEST_CASE("start: crowded CPUs are told once, with the fix") {
  const ScratchFolder scratch;
  const std::string two = "taskset -c " + std::to_string(first_allowed_processor()) + " " +
                          MPIEXEC + " -q --bind-to none -np 2 " + SKEP_BINARIES + "/" +
                          small_run(scratch, "run", 0);
  const auto warnings = [&](const std::string& flags) {
    const Ending ending = run_program(two + flags, scratch);
    INFO(ending.out << ending.err);
    REQUIRE(ending.code == 0);
    std::vector<std::string> found;
    for (const std::string& line : lines_of(ending.out))
      if (line.starts_with("warning: ")) found.push_back(line);
    return found;
  };
  const std::vector<std::string> crowded = warnings(" --run.threads 2");
  REQUIRE(crowded.size() == 1);
  CHECK_THAT(crowded[0], Catch::Contains("4 threads of 2 ranks share 1 CPU on ") &&
                             Catch::EndsWith("use --run.threads 1"));
  CHECK(warnings(" --run.threads 1").empty());
}
