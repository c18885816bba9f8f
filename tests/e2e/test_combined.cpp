// Everything that may be combined, combined, through the shipped train: stopped at chosen steps and
// continued, it ends with the bytes of the run that never stopped. Every step, in one process:
// tests/train/test_combined.cpp.
#include <catch2/catch.hpp>

#include "combined_settings.h"
#include "program.h"
#include "restored.h"

using namespace skep;
using namespace skep::test;

namespace {

/// The combination's settings in a file, beside the text they are about.
struct Combined {
  Combined(const std::string& settings, int n) : ranks(n) {
    write_file(scratch.path + "/settings.toml", settings);
    write_file(scratch.path + "/short.txt", synthetic_text(combined_text));
  }
  /// `train` up to a step; `more`: flags.
  void train(const std::string& run, int steps, const std::string& more = "") const {
    const Ending ending = run_ranked(
        ranks,
        fmt::format("train --config {0}/settings.toml --data.train {0}/short.txt --run.dir {0}/{1} "
                    "--run.steps {2} {3}",
                    scratch.path, run, steps, more),
        scratch);
    INFO(ending.out << ending.err);
    REQUIRE(ending.code == 0);
  }
  std::string folder(const std::string& run) const { return scratch.path + "/" + run; }
  std::string checkpoint(const std::string& run, int step) const {
    return fmt::format("{}/ckpt/step-{}", folder(run), step);
  }
  ScratchFolder scratch;
  int ranks;
};

/// The rows of training, of the columns that are functions of the state; and the last validation.
std::vector<std::string> states_in(const std::string& run) {
  std::vector<std::string> states;
  const std::vector<nlohmann::json> rows = metrics_of(run);
  for (const nlohmann::json& row : rows) {
    if (!row.contains("loss")) continue;
    nlohmann::json state;
    for (const char* column : {"step", "epoch", "loss", "lr", "grad_norm", "tokens", "updates",
                               "topology", "sync", "scale", "skipped"})
      state[column] = row.at(column);
    if (row.contains("tasks")) state["tasks"] = row.at("tasks");
    states.push_back(state.dump());
  }
  states.push_back(rows.back().at("val_loss").dump());
  return states;
}

void require_same(const Combined& combined, const std::string& run, int steps) {
  CHECK(states_in(combined.folder(run)) == states_in(combined.folder("whole")));
  CHECK(differences(restored(combined.checkpoint(run, steps)),
                    restored(combined.checkpoint("whole", steps))) == std::set<std::string>{});
}

}  // namespace

TEST_CASE("all tricks at once through the program: stop, resume, the same bytes", "[combined]") {
  const Combined combined(all_tricks, 2);
  combined.train("whole", 14);
  // What the first run drew: others are told, and those that resume find it in their checkpoint.
  const auto numbers = numbers_of(state_folders(combined.checkpoint("whole", 14)).front());
  const std::string drawn = "--data.chaos_seed " + numbers.at("chaos_seed").dump();
  // In mid-period, where a cycle ends, where an update was made, in the third epoch.
  for (const int stop : {3, 5, 8, 13}) {
    INFO("stopped after step " << stop);
    const std::string run = fmt::format("stop-{}", stop);
    combined.train(run, stop, drawn);
    combined.train(run, 14, "--run.resume auto");
    require_same(combined, run, 14);
    CHECK(read_file(combined.folder(run) + "/lr_history.csv") ==
          read_file(combined.folder("whole") + "/lr_history.csv"));
  }
}

TEST_CASE("phases of all kinds through the program: stop, resume, the same bytes", "[combined]") {
  const Combined combined(all_phases, 3);
  combined.train("whole", 16);
  REQUIRE(state_folders(combined.checkpoint("whole", 16)).size() == 3);
  // In mid-period and mid-phase; where ranks that are apart change wires; where they become one.
  for (const int stop : {3, 6, 9, 13}) {
    INFO("stopped after step " << stop);
    const std::string run = fmt::format("stop-{}", stop);
    combined.train(run, stop);
    combined.train(run, 16, "--run.resume auto");
    require_same(combined, run, 16);
  }
}
