// Whole runs of the shipped train binary.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "program.h"

using namespace skep;
using namespace skep::test;

TEST_CASE("train: the same losses at 1, 2, 3 and 4 ranks, and files as documented") {
  const ScratchFolder scratch;
  std::vector<std::vector<nlohmann::json>> runs;
  for (int ranks : {1, 2, 3, 4}) {
    const std::string name = "n" + std::to_string(ranks), run = scratch.path + "/" + name;
    const Ending ending = run_ranked(ranks, small_run(scratch, name, 20), scratch);
    INFO(ending.out << ending.err);
    REQUIRE(ending.code == 0);
    CHECK(ending.err.empty());
    CHECK_THAT(ending.out, Catch::Contains("12 sequences = " + std::to_string(ranks) + " rank"));
    CHECK_THAT(ending.out, Catch::Contains("step 20/20") && Catch::Contains("validation loss"));
    for (const char* file :
         {"config.toml", "env.json", "log.rank-0", "ckpt/step-20/manifest.json",
          "ckpt/step-20/model/config.json", "ckpt/step-20/model/model.safetensors",
          "ckpt/step-20/model/tokenizer.json"}) {
      INFO(file);
      CHECK(std::filesystem::exists(run + "/" + file));
    }
    CHECK(std::filesystem::exists(run + "/log.rank-" + std::to_string(ranks - 1)));
    runs.push_back(metrics_of(run));
    REQUIRE(runs.back().size() == 21);
  }
  for (std::size_t n = 1; n < runs.size(); ++n)
    for (std::size_t i = 0; i < 21; ++i) {
      const char* key = i < 20 ? "loss" : "val_loss";
      const double one = runs[0][i].at(key), many = runs[n][i].at(key);
      INFO("row " << i << " at " << n + 1 << " ranks: " << one << " " << many);
      CHECK(std::abs(many - one) <= 2e-5 * one);
    }
  for (const char* key : {"step", "epoch", "loss", "lr", "grad_norm", "tokens", "updates",
                          "tokens_per_s", "step_s", "compute_s", "comm_wait_s", "loader_wait_s",
                          "bytes_sent", "topology", "sync", "skipped", "rss_bytes"}) {
    INFO(key);
    CHECK(runs[1][0].contains(key));
  }
  // Ring: a rank of N sends 2 (N-1)/N of what is summed: at 2 ranks one gradient and eight doubles
  // a step (loss, tokens, requests to stop, checkpoints written, two tasks' losses, elements not
  // finite and out of range). Rank 0 also sends its buffers: 16 position ids of 4 bytes.
  const std::string text = read_file(scratch.path + "/text.txt");
  const std::size_t vocab = std::set<char>(text.begin(), text.end()).size(), width = 32;
  const std::size_t block = 12 * width * width + 13 * width, outside = (vocab + 16 + 2) * width;
  const double sent =
      runs[1][1].at("bytes_sent").get<double>() - runs[1][0].at("bytes_sent").get<double>();
  const double needed = 4.0 * static_cast<double>(2 * block + outside) + 64;
  CHECK(sent == needed + 64);
  REQUIRE(run_ranked(2, small_run(scratch, "own", 2) + " --ddp.broadcast_buffers false", scratch)
              .code == 0);
  const auto own = metrics_of(scratch.path + "/own");
  CHECK(own[1].at("bytes_sent").get<double>() - own[0].at("bytes_sent").get<double>() == needed);
}

TEST_CASE("train: stop and resume gives the same bytes as never stopping") {
  const ScratchFolder scratch;
  REQUIRE(run_ranked(2, small_run(scratch, "whole", 12), scratch).code == 0);
  REQUIRE(run_ranked(2, small_run(scratch, "parts", 5), scratch).code == 0);
  const Ending ending =
      run_ranked(2, small_run(scratch, "parts", 12) + " --run.resume auto", scratch);
  INFO(ending.out << ending.err);
  REQUIRE(ending.code == 0);
  CHECK_THAT(ending.out, Catch::Contains("resumed from") && Catch::Contains("at step 5"));
  for (const char* file : {"model/model.safetensors", "state.safetensors", "state.json"})
    CHECK(read_file(scratch.path + "/whole/ckpt/step-12/" + file) ==
          read_file(scratch.path + "/parts/ckpt/step-12/" + file));
  const auto whole = metrics_of(scratch.path + "/whole"),
             parts = metrics_of(scratch.path + "/parts");
  std::vector<double> losses, resumed;
  for (const auto& row : whole)
    if (row.contains("loss")) losses.push_back(row.at("loss"));
  for (const auto& row : parts)
    if (row.contains("loss")) resumed.push_back(row.at("loss"));
  CHECK(losses == resumed);
}

TEST_CASE("train: resume = auto passes over a damaged checkpoint and says which") {
  const ScratchFolder scratch;
  REQUIRE(run_ranked(2, small_run(scratch, "run", 6) + " --checkpoint.every 3", scratch).code == 0);
  std::filesystem::resize_file(scratch.path + "/run/ckpt/step-6/model/model.safetensors", 1000);
  const Ending ending = run_ranked(2, small_run(scratch, "run", 8) + " --run.resume auto", scratch);
  INFO(ending.out << ending.err);
  CHECK(ending.code == 0);
  CHECK_THAT(ending.out, Catch::Contains("skipping checkpoint") &&
                             Catch::Contains("step-6: model/model.safetensors"));
  CHECK_THAT(ending.out, Catch::Contains("at step 3"));
  CHECK(std::filesystem::exists(scratch.path + "/run/ckpt/step-8/manifest.json"));
}

TEST_CASE("train: nothing of an earlier run in the folder is lost") {
  const ScratchFolder scratch;
  const std::string run = scratch.path + "/run";
  REQUIRE(run_ranked(1, small_run(scratch, "run", 2), scratch).code == 0);
  write_file(run + "/notes.txt", "mine");
  REQUIRE(run_ranked(1, small_run(scratch, "run", 1), scratch).code == 0);
  CHECK(std::filesystem::exists(run + "/previous-1/ckpt/step-2/manifest.json"));
  CHECK(metrics_of(run + "/previous-1").size() == 3);
  CHECK(metrics_of(run).size() == 2);
  CHECK(read_file(run + "/notes.txt") == "mine");
  // The same when there is nothing to resume, and for checkpoints kept elsewhere.
  std::filesystem::remove_all(run + "/ckpt");
  const std::string elsewhere = " --run.resume auto --checkpoint.dir " + scratch.path + "/kept";
  REQUIRE(run_ranked(1, small_run(scratch, "run", 1) + elsewhere, scratch).code == 0);
  CHECK(metrics_of(run + "/previous-2").size() == 2);
  REQUIRE(run_ranked(1,
                     small_run(scratch, "other", 1) + " --checkpoint.dir " + scratch.path + "/kept",
                     scratch)
              .code == 0);
  CHECK(std::filesystem::exists(scratch.path + "/kept/previous-1/step-1/manifest.json"));
}

TEST_CASE("train: going back to an earlier checkpoint keeps the branch that is left") {
  const ScratchFolder scratch;
  const std::string run = scratch.path + "/run";
  REQUIRE(run_ranked(2, small_run(scratch, "run", 8) + " --checkpoint.every 2 --checkpoint.keep 4",
                     scratch)
              .code == 0);
  REQUIRE(run_ranked(2,
                     small_run(scratch, "run", 5) + " --checkpoint.keep 1 --run.resume " + run +
                         "/ckpt/step-4",
                     scratch)
              .code == 0);
  CHECK(std::filesystem::exists(run + "/ckpt/step-5/manifest.json"));
  CHECK(std::filesystem::exists(run + "/ckpt/previous-1/step-8/manifest.json"));
  CHECK(metrics_of(run + "/ckpt/previous-1").size() == 9);
  CHECK(metrics_of(run).size() == 6);
  // Resuming a finished run has nothing to train and rewrites nothing.
  const auto before = std::filesystem::last_write_time(run + "/ckpt/step-5/manifest.json");
  REQUIRE(run_ranked(2, small_run(scratch, "run", 5) + " --run.resume auto", scratch).code == 0);
  CHECK(std::filesystem::last_write_time(run + "/ckpt/step-5/manifest.json") == before);
}

TEST_CASE("train: two runs in one folder at the same time: the second is refused") {
  const ScratchFolder scratch;
  make_directories(scratch.path + "/run");
  // Another run holds the lock for as long as its process lives.
  const auto run_beside = [&](const std::string& lock, const std::string& more) {
    return run_program("sh -c 'exec 9>" + lock + "; flock 9; " + std::string(MPIEXEC) +
                           " -q -np 2 " + SKEP_BINARIES + "/" + small_run(scratch, "run", 1) +
                           more + "'",
                       scratch);
  };
  const std::string kept = scratch.path + "/kept";
  make_directories(kept);
  for (const Ending& ending : {run_beside(scratch.path + "/run/lock", ""),
                               run_beside(kept + "/lock", " --checkpoint.dir " + kept)}) {
    INFO(ending.out << ending.err);
    CHECK(ending.code == 2);
    CHECK_THAT(ending.err, Catch::Contains("is in use by another run"));
  }
}

TEST_CASE("train: --explain predicts what the first step then costs") {
  const ScratchFolder scratch;
  const std::string precision = GENERATE("fp32", "bf16");
  const Ending ending =
      run_ranked(2,
                 small_run(scratch, "run", 2) +
                     " --explain --model.context 96 --precision.compute " + precision,
                 scratch);
  INFO(ending.out << ending.err);
  REQUIRE(ending.code == 0);
  CHECK_THAT(ending.out,
             Catch::Contains("blocks.1.attention.qkv.weight") && Catch::Contains("(96, 32)"));
  for (const char* what : {"activations and workspace", "matrix products", "sent to other ranks"}) {
    std::vector<double> values;  // predicted, measured
    for (const std::string& line : lines_of(ending.out))
      if (line.starts_with("  " + std::string(what)))
        values.push_back(std::stod(line.substr(2 + std::string(what).size())));
    INFO(what);
    REQUIRE(values.size() == 2);
    CHECK(values[0] > 0);
    const bool exact = std::string(what) != "activations and workspace";
    CHECK(values[1] == Approx(values[0]).epsilon(exact ? 0.02 : 0.25));
  }
}

TEST_CASE("train: works without mpirun, and prints its configuration and help") {
  const ScratchFolder scratch;
  const std::string train = std::string(SKEP_BINARIES) + "/";
  CHECK(run_program(train + small_run(scratch, "run", 2), scratch).code == 0);
  const Ending printed = run_program(train + "train --print-config --optim.lr 0.25", scratch);
  CHECK(printed.code == 0);
  CHECK_THAT(printed.out, Catch::Contains("[optim]") && Catch::Contains("lr = 0.25"));
  write_file(scratch.path + "/config.toml", printed.out);
  CHECK(
      run_program(train + "train --print-config --config " + scratch.path + "/config.toml", scratch)
          .out == printed.out);
  CHECK_THAT(run_program(train + "train --help", scratch).out, Catch::Contains("--data.train"));
  // Under mpirun one rank speaks.
  CHECK(run_ranked(3, "train --print-config --optim.lr 0.25", scratch).out == printed.out);
}

TEST_CASE(
    "SIGUSR1: a checkpoint after the step, exit code 75 from all, and the run goes on later") {
  const ScratchFolder scratch;
  const std::string command = small_run(scratch, "run", 1000000);
  const Ending ending =
      run_program("timeout --preserve-status --signal=USR1 5 " + std::string(MPIEXEC) +
                      " -q -np 3 " + SKEP_BINARIES + "/" + command,
                  scratch);
  INFO(ending.out << ending.err);
  CHECK(ending.code == 75);
  REQUIRE(lines_of(ending.err).size() == 1);
  CHECK_THAT(ending.err, Catch::Contains("--run.resume auto"));
  const std::int64_t step = metrics_of(scratch.path + "/run").back().at("step");
  CHECK(std::filesystem::exists(scratch.path + "/run/ckpt/step-" + std::to_string(step) +
                                "/manifest.json"));
  const Ending rest =
      run_ranked(2, small_run(scratch, "run", step + 2) + " --run.resume auto", scratch);
  CHECK(rest.code == 0);
  CHECK_THAT(rest.out, Catch::Contains("at step " + std::to_string(step)));
}

TEST_CASE("ranks started with different settings: one line that names the setting, exit code 2") {
  const ScratchFolder scratch;
  const std::string run = std::string(SKEP_BINARIES) + "/" + small_run(scratch, "run", 3);
  const auto apart = [&](const std::string& one, const std::string& other) {
    return run_program(std::string(MPIEXEC) + " -q -np 1 " + one + " : -np 1 " + other, scratch);
  };
  const Ending topology = apart(run + " --comm.topology tree", run + " --comm.topology ring");
  CHECK(topology.code == 2);
  REQUIRE(lines_of(topology.err).size() == 1);
  CHECK_THAT(topology.err, Catch::Contains("[comm] topology = \"tree\" and topology = \"ring\""));
  const std::string exact = run + " --comm.reduction exact";
  const Ending threads = run_program(std::string(MPIEXEC) + " -q -np 1 -x OMP_NUM_THREADS=1 " +
                                         exact + " : -np 1 -x OMP_NUM_THREADS=2 " + exact,
                                     scratch);
  CHECK(threads.code == 2);
  CHECK_THAT(threads.err, Catch::Contains("rank 0 has 1, rank 1 has 2"));
}

TEST_CASE("comm.transport mpi hands the sums to MPI: the same losses, other bytes on the wire") {
  const ScratchFolder scratch;
  const auto bytes_and_loss = [&](const std::string& name, const std::string& more) {
    const Ending ending = run_ranked(3, small_run(scratch, name, 4) + more, scratch);
    INFO(ending.err);
    REQUIRE(ending.code == 0);
    const auto rows = metrics_of(scratch.path + "/" + name);
    return std::pair(
        rows[3].at("bytes_sent").get<double>() - rows[2].at("bytes_sent").get<double>(),
        rows[3].at("loss").get<double>());
  };
  const auto plans = bytes_and_loss("plans", ""),
             mpi = bytes_and_loss("mpi", " --comm.transport mpi");
  CHECK(mpi.second == Approx(plans.second).epsilon(2e-5));
  // A ring of 3 sends 4/3 of what is summed; of the library's messages only the payload is known.
  CHECK(mpi.first == Approx(plans.first * 3 / 4).epsilon(1e-3));
}
