// The progress bar as text: what stands in the line, what leaves first, and what a terminal shows
// after all that was written to it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "train/observe/pace.h"
#include "train/observe/progress_bar.h"
#include "train/observe/terminal.h"

using namespace skep;

namespace {

const BarState halfway{50, 100, 2.5, 1e-3, 12345, 75};

// A window without an edge: rows of characters, a cursor, and the three codes the bar may use.
struct FakeScreen {
  std::vector<std::string> rows{""};
  std::size_t column = 0;
  int columns = 80;
  std::size_t longest = 0;

  void write(std::string_view text) {
    for (const char c : text) {
      REQUIRE((c == '\n' || c == '\r' || c == '\b' || (c >= ' ' && c <= '~')));  // no escapes
      if (c == '\n') rows.emplace_back();
      if (c == '\n' || c == '\r') column = 0;
      if (c == '\b') --column;
      if (c < ' ') continue;
      std::string& row = rows.back();
      if (row.size() <= column) row.resize(column + 1, ' ');
      row[column++] = c;
      longest = std::max(longest, column);
    }
  }
  std::string row(std::size_t i) const {  // without the blanks at its end
    return rows.at(i).substr(0, rows.at(i).find_last_not_of(' ') + 1);
  }
};

StepReport report_at(std::int64_t step, double loss) {
  StepReport report;
  report.step = step;
  report.loss = loss;
  report.lr = 1e-3;
  report.tokens_per_second = 100;
  report.step_seconds = 0.5;
  return report;
}

}  // namespace

TEST_CASE("progress bar: a wide line holds everything") {
  CHECK(draw_bar(halfway, 200) ==
        "step 50/100  [====================>                   ]  loss 2.5000  lr 1.00e-03  "
        "12345 tokens/s  1m15s left");
}

TEST_CASE("progress bar: it never reaches the last column, and the least important leaves first") {
  const std::vector<std::string> in_order{"step", "loss", "left", "[", "lr", "tokens/s"};
  std::size_t present_before = 1;
  for (int columns = 1; columns <= 200; ++columns) {
    const std::string line = draw_bar(halfway, columns);
    CHECK(line.size() <= static_cast<std::size_t>(std::max(1, columns - 1)));
    const auto has = [&](const std::string& word) { return line.find(word) != line.npos; };
    if (columns < 12) continue;
    const auto present = static_cast<std::size_t>(
        std::find_if_not(in_order.begin(), in_order.end(), has) - in_order.begin());
    INFO(line);
    CHECK(static_cast<std::size_t>(std::count_if(in_order.begin(), in_order.end(), has)) ==
          present);
    CHECK(present >= present_before);
    present_before = present;
  }
  CHECK(present_before == in_order.size());
}

TEST_CASE("progress bar: empty at the start, full at the end") {
  CHECK_THAT(draw_bar({0, 100, 0, 0, 0, 0}, 60), Catch::Contains("[>    "));
  CHECK_THAT(draw_bar({100, 100, 0, 0, 0, 0}, 60), Catch::Contains("=]"));
  CHECK_THAT(draw_bar({100, 100, 0, 0, 0, 0}, 60), !Catch::Contains(">"));
}

TEST_CASE("progress bar: what is worth keeping stands above it, and the last line is clean") {
  FakeScreen screen;
  {
    const auto bar = make_progress_bar(
        0, 3, {[&] { return screen.columns; }, [&](std::string_view text) { screen.write(text); }});
    bar->on_message("hello\nworld");
    bar->on_step(report_at(1, 4));
    CHECK_THAT(screen.rows.back(), Catch::Contains("step 1/3") && Catch::Contains("loss 4.0000"));
    bar->on_validation(1, 3.25);
    bar->on_step(report_at(2, 2));  // at once after the other: perhaps not drawn, but never lost
    bar->on_message("saved");
    screen.columns = 30;  // the window shrinks, and the rest of the longer line must go
    bar->on_step(report_at(3, 1));
    CHECK(screen.row(4).size() < 30);
  }
  REQUIRE(screen.rows.size() == 6);
  CHECK(screen.row(0) == "hello");
  CHECK(screen.row(1) == "world");
  CHECK(screen.row(2) == "step 1/3  validation loss 3.2500");
  CHECK(screen.row(3) == "saved");
  CHECK_THAT(screen.row(4), Catch::StartsWith("step 3/3") && Catch::Contains("loss 1.0000"));
  CHECK(screen.row(5).empty());
  CHECK(screen.column == 0);
  CHECK(screen.longest == 79);
}

TEST_CASE("progress bar: a run that fails before its first step leaves no bar") {
  FakeScreen screen;
  make_progress_bar(0, 3, {[] { return 80; }, [&](std::string_view text) { screen.write(text); }});
  CHECK(screen.rows == std::vector<std::string>{""});
}

TEST_CASE("pace: the middle half of the steps, and pauses in proportion") {
  Pace pace;
  CHECK(pace.seconds_left(10) == 0);
  double elapsed = 0;
  for (const double seconds : {9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.01})
    pace.add(seconds, elapsed += seconds);
  CHECK(pace.typical_step_seconds() == 1.0);
  CHECK(pace.seconds_left(10) == Approx(10));
  elapsed += 15;  // a validation as long as all steps before and the next one together
  pace.add(1.0, elapsed += 1.0);
  CHECK(pace.seconds_left(10) == Approx(10 * elapsed / (elapsed - 15)));
  for (int i = 0; i < 64; ++i) pace.add(3.0, elapsed += 3.0);  // the old steps are forgotten
  CHECK(pace.typical_step_seconds() == 3.0);
}

TEST_CASE("terminal: the launchers of Open MPI hide it, shells and Slurm do not") {
  for (const char* name : {"mpirun", "mpiexec", "orterun", "prterun", "orted", "prted"})
    CHECK(hides_terminal(name));
  for (const char* name : {"bash", "slurmstepd", "srun", "script", "mpi", ""})
    CHECK_FALSE(hides_terminal(name));
}
