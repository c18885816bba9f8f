// What a run under mpirun writes and says about itself when it is asked to.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "program.h"

using namespace skep;
using namespace skep::test;

TEST_CASE("observe: files, the pipe and the spread over ranks, and what a resumed run adds") {
  const ScratchFolder scratch;
  const std::string run = scratch.path + "/run", piped = scratch.path + "/piped";
  const std::string flags = " --run.log_every 5 --observe.csv true --observe.tensorboard true" +
                            std::string(" --observe.pipe \"cat >> ") + piped + "\"";
  const Ending first = run_ranked(2, small_run(scratch, "run", 10) + flags, scratch);
  INFO(first.out << first.err);
  REQUIRE(first.code == 0);
  CHECK(first.err.empty());
  CHECK(read_file(piped) == read_file(run + "/metrics.jsonl"));
  for (const nlohmann::json& row : metrics_of(run)) {
    const bool due = row.at("step").get<int>() % 5 == 0 && !row.contains("val_loss");
    REQUIRE(row.contains("ranks") == due);
    if (due)
      CHECK(row.at("ranks").at("compute_s").at("max") >= row.at("ranks").at("compute_s").at("min"));
  }
  CHECK(lines_of(read_file(run + "/metrics.csv")).size() == 12);  // header, 10 steps, validation
  for (const char* rank : {"0", "1"})
    CHECK_THAT(read_file(run + "/log.rank-" + rank), Catch::Contains("Z INFO step 5: loss "));

  const Ending second =
      run_ranked(2, small_run(scratch, "run", 12) + flags + " --run.resume auto", scratch);
  REQUIRE(second.code == 0);
  CHECK(lines_of(read_file(run + "/metrics.csv")).size() == 15);
  std::size_t event_files = 0;
  for ([[maybe_unused]] const auto& file :
       std::filesystem::directory_iterator(run + "/tensorboard"))
    ++event_files;
  CHECK(event_files == 2);
}

TEST_CASE("observe: how each cycle ended, and the losses that are minimised together") {
  const ScratchFolder scratch;
  const std::string run = scratch.path + "/run";
  const std::string flags =
      " --schedule.kind warm_restarts --schedule.cycle 4 --schedule.jitter 0.05"
      " --schedule.restart_from best --optim.lr 0.1 --checkpoint.every 5"
      " --loss.task_weighting uncertainty --loss.z_weight 0.01";
  const Ending first = run_ranked(2, small_run(scratch, "run", 10) + flags, scratch);
  INFO(first.out << first.err);
  REQUIRE(first.code == 0);
  CHECK_THAT(first.out, Catch::Contains("\nring               step "));
  CHECK_THAT(first.out, Catch::Contains("\nfull_mesh          validation "));
  const Ending second = run_ranked(
      3, small_run(scratch, "run", 16) + flags + " --run.resume " + run + "/ckpt/step-5", scratch);
  INFO(second.out << second.err);
  REQUIRE(second.code == 0);
  std::map<std::int64_t, double> losses;
  for (const nlohmann::json& row : metrics_of(run)) {
    if (row.contains("val_loss")) {
      losses[row.at("step").get<std::int64_t>()] = row.at("val_loss").get<double>();
      continue;
    }
    const nlohmann::json& tasks = row.at("tasks");
    CHECK(tasks.at("next_token").at("weight").get<double>() ==
          Approx(std::exp(-tasks.at("next_token").at("log_variance").get<double>())));
    CHECK(tasks.at("z_loss").at("loss").get<double>() > 0);
  }
  const auto rows = lines_of(read_file(run + "/lr_history.csv"));
  REQUIRE(rows.size() == 5);
  CHECK(rows[0] == "step,cycle,jitter,val_loss,next_from");
  std::int64_t best = 4;
  for (std::int64_t cycle = 0; cycle < 4; ++cycle) {
    const std::int64_t step = 4 * (cycle + 1);
    if (losses.at(step) <= losses.at(best)) best = step;
    const std::string& row = rows[static_cast<std::size_t>(cycle) + 1];
    CHECK_THAT(row, Catch::StartsWith(fmt::format("{},{},", step, cycle)) &&
                        Catch::EndsWith(fmt::format(",{},{}", losses.at(step), best)));
  }
  // A run that begins anew moves the history of the one before.
  REQUIRE(run_ranked(1, small_run(scratch, "run", 1), scratch).code == 0);
  CHECK_FALSE(std::filesystem::exists(run + "/lr_history.csv"));
  CHECK(std::filesystem::exists(run + "/previous-1/lr_history.csv"));
}

TEST_CASE("observe: without a word nothing more is written; a pipe that dies ends no run") {
  const ScratchFolder scratch;
  const std::string run = scratch.path + "/run";
  const Ending ending =
      run_ranked(2, small_run(scratch, "run", 100) + " --observe.pipe \"exit 1\"", scratch);
  INFO(ending.out << ending.err);
  CHECK(ending.code == 0);
  CHECK_THAT(ending.out, Catch::Contains("warning: observe.pipe: the command has ended"));
  CHECK_THAT(read_file(run + "/log.rank-0"), Catch::Contains("Z WARN observe.pipe"));
  CHECK(metrics_of(run).size() == 101);
  const Ending late =
      run_ranked(1, small_run(scratch, "late", 3) + " --observe.pipe \"sleep 99\"", scratch);
  CHECK(late.code == 0);
  CHECK_THAT(late.err, Catch::Contains("observe.pipe: the command was stopped, 5 s after"));
  CHECK_FALSE(std::filesystem::exists(run + "/metrics.csv"));
  CHECK_FALSE(std::filesystem::exists(run + "/tensorboard"));
}
