// What a person sees: the shipped binary on a pseudo terminal, with and without mpirun, and into a
// file.
#include <catch2/catch.hpp>

#include "program.h"

using namespace skep;
using namespace skep::test;

namespace {

// As if typed into a terminal of 72 columns. What the terminal was sent is returned as out.
Ending run_on_terminal(const std::string& command, const ScratchFolder& scratch) {
  const std::string log = scratch.path + "/terminal";
  Ending ending = run_program("script -qec \"stty cols 72; " + command + "\" -O " + log, scratch);
  ending.out = read_file(log);
  ending.out = ending.out.substr(ending.out.find('\n') + 1);  // script's own first line
  ending.out = ending.out.substr(0, ending.out.rfind("\nScript done"));
  return ending;
}

std::string launched(int ranks) {
  return ranks == 0 ? "" : std::string(MPIEXEC) + " -q -np " + std::to_string(ranks) + " ";
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; ++at) ++found;
  return found;
}

}  // namespace

TEST_CASE("progress: a bar on a terminal, also under mpirun") {
  const ScratchFolder scratch;
  const int ranks = GENERATE(0, 2);
  const Ending ending = run_on_terminal(
      launched(ranks) + SKEP_BINARIES + "/" + small_run(scratch, "run", 40), scratch);
  INFO(ending.out);
  REQUIRE(ending.code == 0);
  CHECK(count(ending.out, "\rstep 1/40  [") == 1);
  CHECK(count(ending.out, "step 40/40  [") >= 1);
  CHECK_THAT(ending.out, Catch::Contains("step 40/40  validation loss"));
  CHECK(ending.out.find('\x1b') == std::string::npos);
  std::size_t widest = 0;
  std::string piece;
  for (const char c : ending.out) {
    if (c == '\r' || c == '\n') piece.clear();
    piece += c;
    if (piece.find('[') != piece.npos) widest = std::max(widest, piece.size() - 1);
  }
  CHECK(widest == 71);
  CHECK_THAT(ending.out, Catch::EndsWith("left\r\n") || Catch::EndsWith("left\r"));
}

TEST_CASE("progress: plain lines into a file, and where mpirun tags its output") {
  const ScratchFolder scratch;
  const std::string command = std::string(SKEP_BINARIES) + "/" + small_run(scratch, "run", 40);
  const std::string file = scratch.path + "/file";
  SECTION("one rank into a file, on a terminal") {
    REQUIRE(run_on_terminal(command + " > " + file, scratch).code == 0);
  }
  SECTION("mpirun into a file, on a terminal") {
    REQUIRE(run_on_terminal(launched(2) + command + " > " + file, scratch).code == 0);
  }
  SECTION("mpirun into a pipe, on a terminal") {
    REQUIRE(run_on_terminal(launched(2) + command + " | cat > " + file, scratch).code == 0);
  }
  SECTION("mpirun with tags on a terminal") {
    const Ending ending =
        run_on_terminal(std::string(MPIEXEC) + " -q --tag-output -np 2 " + command, scratch);
    REQUIRE(ending.code == 0);
    write_file(file, ending.out);
  }
  const std::string text = read_file(file);
  INFO(text);
  for (const char* step : {"step 1/40  loss", "step 10/40  loss", "step 40/40  loss"})
    CHECK(count(text, step) == 1);
  CHECK(count(text, "  [") == 0);
  CHECK(text.find('\b') == std::string::npos);
}

TEST_CASE("progress: plain, off and bar do as they say wherever the output goes") {
  const ScratchFolder scratch;
  const std::string command =
      std::string(SKEP_BINARIES) + "/" + small_run(scratch, "run", 20) + " --run.progress ";
  CHECK_THAT(run_on_terminal(command + "plain", scratch).out,
             Catch::Contains("step 10/20  loss") && !Catch::Contains("["));
  CHECK(run_on_terminal(command + "off", scratch).out.empty());
  CHECK_THAT(run_program(command + "bar", scratch).out, Catch::Contains("\rstep 1/20  ["));
}

TEST_CASE("progress: an error starts on a line of its own below the bar") {
  const ScratchFolder scratch;
  const Ending ending = run_on_terminal(
      launched(2) + SKEP_BINARIES + "/" + small_run(scratch, "run", 60) + " --optim.lr 1e30",
      scratch);
  INFO(ending.out);
  CHECK(ending.code == 4);
  CHECK_THAT(ending.out, Catch::Contains("\nrank 0 ("));
  CHECK_THAT(ending.out, Catch::Contains("  ["));
}
