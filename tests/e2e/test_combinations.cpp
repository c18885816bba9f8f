// What may not be combined, through the shipped train on three ranks: keys with keys, keys with a
// phase, a checkpoint with a number of ranks. Each is refused at the start, with the reason.
#include <catch2/catch.hpp>

#include "mistakes.h"

using namespace skep::test;

namespace {

const std::string train = "train --config small.toml ";

}  // namespace

TEST_CASE("mistakes: what cannot be combined", "[mistakes]") {
  std::vector<Mistake> rows;
  const auto refused = [&](const std::string& flags, const std::string& says) {
    rows.push_back({flags, "", train + flags, 2, says, Inside::nothing, "run", {3}});
  };
  const std::string best = "--schedule.kind step --schedule.cycle 1 --schedule.restart_from best ";
  // Topologies that bring only some of three ranks together at a step.
  const std::string partial = "--comm.topology random_clusters --comm.cluster_size 2 ";
  const std::string why = "groups only some of the 3 ranks at a step, so parameters are averaged";
  refused(partial + "--compress.codec int8", why);
  refused("--comm.topology exponential --compress.codec topk", why);
  refused("--comm.topology grid --comm.wire bf16", why);
  refused(partial + "--comm.wire bf16", why);
  refused(partial + "--comm.reduction exact", why);
  refused(partial + "--sync.rule accumulate", "it is for all ranks together, and topology random");
  refused(partial + "--sync.rule diloco", "it is for all ranks together, and topology random");
  refused(partial + "--loss.view_weighting adaptive", "ranks train by themselves");
  refused(partial + best, "topology random_clusters leaves each rank weights of its own");
  for (const std::string rule : {"local_sgd", "diloco"}) {
    const std::string apart = "--sync.rule " + rule + " ";
    const std::string means = "sync.rule " + rule + " averages parameters in fp32 and no gradients";
    refused(apart + "--compress.codec int8", means);
    refused(apart + "--comm.wire bf16", means);
    refused(apart + "--comm.reduction exact", means);
    refused(apart + "--loss.view_weighting adaptive", "ranks train by themselves with sync.rule");
    refused(apart + best, "with sync.rule " + rule + " each rank has weights of its own");
  }
  refused("--comm.reduction exact --compress.codec topk_int8",
          "it sends integers; set one of them");
  refused("--comm.reduction exact --comm.wire bf16", "it sends integers; set one of them back");
  refused("--comm.wire bf16 --compress.codec int8", "the codec says what is sent; set one of them");
  refused("--loss.view_weighting adaptive --batch.micro_batch 2", "set loss.ema greater than 0");
  refused("--loss.task_weighting uncertainty", "there is only one: set loss.z_weight greater");
  refused("--schedule.restart_from best", "schedule.kind constant has no cycles that end");
  refused("--schedule.kind warm_restarts", "needs a schedule.cycle greater than 0, in steps");
  refused(best + "--sync.rule accumulate", "gradients of the old weights may wait where a cycle");
  refused(best + "--data.val_fraction 0", "there is no validation data: name some with data.val");
  check_mistakes(rows);
}

TEST_CASE("mistakes: what a phase cannot be combined with", "[mistakes]") {
  const auto refused = [](const std::string& flags, const std::string& says) {
    return Mistake{flags,
                   "printf '[[phase]]\\nuntil_step = 1\\n[[phase]]\\nuntil_step = 2\\n"
                   "topology = \"random_clusters\"\\ncluster_size = 2\\n' >>small.toml",
                   train + flags,
                   2,
                   says,
                   Inside::nothing,
                   "run",
                   {3}};
  };
  check_mistakes({
      refused("--compress.codec int8", "phase 2: compress.codec int8 cannot be had"),
      refused("--comm.wire bf16", "phase 2: comm.wire bf16 cannot be had"),
      refused("--comm.reduction exact", "phase 2: comm.reduction exact cannot be had"),
      refused("--loss.view_weighting adaptive", "phase 2: loss.view_weighting adaptive cannot be"),
      refused("--schedule.kind step --schedule.cycle 1 --schedule.restart_from best",
              "phase 2: schedule.restart_from best cannot be had"),
  });
}

TEST_CASE("mistakes: another number of ranks", "[mistakes]") {
  // Two ranks leave a checkpoint that three cannot continue.
  const auto resumed = [](const std::string& flags, const std::string& says) {
    return Mistake{flags,
                   MPIEXEC " -q -np 2 train --config small.toml --run.dir two " + flags,
                   train + "--run.dir three --run.resume two/ckpt/step-1 " + flags,
                   3,
                   says,
                   Inside::nothing,
                   "two",
                   {1, 3}};
  };
  check_mistakes({
      resumed("--compress.codec int8", "(residuals, what a codec had not sent yet): resume with 2"),
      resumed("--compress.codec topk", "(residuals, what a codec had not sent yet): resume with 2"),
      resumed("--sync.rule accumulate --sync.period 2",
              "(the gradient of a period's steps so far): resume"),
      resumed("--sync.rule local_sgd --sync.period 2", "(weights that are apart): resume with 2"),
      resumed("--sync.rule diloco --sync.period 2",
              "(weights that are apart): resume with 2 ranks"),
      resumed("--loss.view_weighting adaptive --loss.ema 0.5", "of 2 ranks, one by one: resume"),
  });
}
