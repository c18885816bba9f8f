// metrics.csv and the pipe: what arrives, and that a run does not suffer from who reads it.
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "train/observe/metrics_file.h"
#include "train/observe/metrics_pipe.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

StepReport report_of(std::int64_t step) {
  StepReport report;
  report.step = step;
  report.loss = 0.5;
  report.topology = "ring";
  report.sync = "every_step";
  return report;
}

struct Piped {
  std::vector<std::string> warnings;
  double seconds = 0;
};

// Sends steps 1 to `steps`; the text is for nothing but its length.
Piped send(const std::string& command, std::int64_t steps, double end_seconds = 60,
           const std::string& topology = "ring") {
  std::signal(SIGPIPE, SIG_IGN);  // as the program does
  Piped piped;
  const auto start = std::chrono::steady_clock::now();
  {
    const auto pipe = make_metrics_pipe(
        command, [&](const std::string& text) { piped.warnings.push_back(text); }, end_seconds);
    for (std::int64_t step = 1; step <= steps; ++step) {
      StepReport report = report_of(step);
      report.topology = topology;
      pipe->on_step(report);
    }
    pipe->on_validation(steps, 0.25);
  }
  piped.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return piped;
}

}  // namespace

TEST_CASE("csv: one header, fixed columns, empty cells for what is not known; resuming goes on") {
  const ScratchFolder scratch;
  const std::string path = scratch.path + "/metrics.csv";
  {
    const auto csv = make_csv_file(path, 0);
    StepReport report = report_of(1);
    report.over_ranks = {{"compute_s", 1, 2, 3}};
    report.grad_norm = INFINITY;
    csv->on_step(report);
    csv->on_validation(1, 0.25);
    csv->on_step(report_of(2));
    csv->on_step(report_of(3));
  }
  make_csv_file(path, 2)->on_step(report_of(3));
  const std::vector<std::string> rows = split(read_file(path), '\n');
  REQUIRE(rows.size() == 5);
  const std::vector<std::string> columns = split(rows[0], ',');
  CHECK(rows[0].starts_with("step,epoch,loss,lr,grad_norm,tokens,updates,tokens_per_s,step_s,"));
  CHECK(columns.back() == "val_loss");
  const auto cell = [&](std::size_t row, const std::string& column) {
    std::vector<std::string> cells = split(rows[row], ',');
    cells.resize(columns.size());
    const auto at = std::find(columns.begin(), columns.end(), column) - columns.begin();
    return cells.at(static_cast<std::size_t>(at));
  };
  CHECK(cell(1, "loss") == "0.5");
  CHECK(cell(1, "grad_norm").empty());
  CHECK(cell(1, "topology") == "ring");
  CHECK(cell(1, "val_loss").empty());
  CHECK(cell(2, "step") == "1");
  CHECK(cell(2, "loss").empty());
  CHECK(cell(2, "val_loss") == "0.25");
  CHECK(cell(3, "step") == "2");
  CHECK(cell(4, "step") == "3");
  for (const std::string& row : rows)
    CHECK(std::count(row.begin(), row.end(), ',') == std::ssize(columns) - 1);
  make_csv_file(path, 0);  // from the beginning: nothing of the old run stays
  CHECK(read_file(path) == rows[0] + "\n");
}

TEST_CASE("pipe: every line arrives, in order") {
  const ScratchFolder scratch;
  const std::string out = scratch.path + "/out";
  const Piped piped = send("cat > " + out, 500);
  CHECK(piped.warnings.empty());
  const std::vector<std::string> lines = split(read_file(out), '\n');
  REQUIRE(lines.size() == 501);
  for (std::size_t i = 0; i < 500; ++i)
    REQUIRE(nlohmann::json::parse(lines[i]).at("step") == i + 1);
  CHECK(nlohmann::json::parse(lines[500]).at("val_loss") == 0.25);
}

TEST_CASE("pipe: a command that starts late still gets everything") {
  const ScratchFolder scratch;
  const std::string out = scratch.path + "/out";
  // About 200 kB: more than a pipe holds.
  CHECK(send("sleep 1; cat > " + out, 500).warnings.empty());
  CHECK(split(read_file(out), '\n').size() == 501);
}

TEST_CASE("pipe: a command that ends is told of once, and the run goes on") {
  std::signal(SIGPIPE, SIG_IGN);
  for (const char* command : {"exit 3", "head -n 1 > /dev/null", "no-such-program 2>/dev/null"}) {
    INFO(command);
    std::vector<std::string> warnings;
    const auto pipe =
        make_metrics_pipe(command, [&](const std::string& text) { warnings.push_back(text); });
    std::int64_t step = 0;
    for (; warnings.empty() && step < 2000; ++step) {
      pipe->on_step(report_of(step));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    for (int more = 0; more < 100; ++more) pipe->on_step(report_of(step + more));
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings[0], Catch::Contains("observe.pipe") && Catch::Contains("ended"));
  }
}

TEST_CASE("pipe: of a command that never reads the run does not wait; the end takes a set time") {
  // 10,000 lines of a kilobyte: ten times what is kept.
  const Piped piped = send("exec sleep 600", 10000, 0.5, std::string(1000, 'x'));
  REQUIRE(piped.warnings.size() == 1);
  CHECK_THAT(piped.warnings[0], Catch::Contains("dropped"));
  CHECK(piped.seconds < 300);  // not the command's 600: it has been stopped
}

TEST_CASE("pipe: when lines are dropped, those that arrive are whole") {
  const ScratchFolder scratch;
  const std::string out = scratch.path + "/out", go = scratch.path + "/go";
  const std::string command = "while [ ! -e " + go + " ]; do sleep 0.1; done; cat > " + out;
  std::vector<std::string> warnings;
  {
    const auto pipe = make_metrics_pipe(
        command, [&](const std::string& text) { warnings.push_back(text); }, 60);
    for (std::int64_t step = 1; step <= 3000; ++step) {
      StepReport report = report_of(step);
      report.topology = std::string(1000, 'x');
      pipe->on_step(report);
    }
    write_file(go, "");
  }
  CHECK(warnings.size() == 1);
  const std::vector<std::string> lines = split(read_file(out), '\n');
  CHECK(lines.size() > 500);
  CHECK(lines.size() < 3000);
  for (std::size_t i = 0; i < lines.size(); ++i)
    REQUIRE(nlohmann::json::parse(lines[i]).at("step") == i + 1);
}
