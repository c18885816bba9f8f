// Phases: wires and rules that change during a run, replicas that part and become one again.
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/kernels/copy.h"
#include "train/sync/average.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

Config with_phases(const std::string& folder, const std::string& toml) {
  Config config = small_config(folder);
  config.run.steps = 12;
  config.checkpoint.dir = folder + "/ckpt";
  read_toml(config, toml, "phases.toml");
  return config;
}

std::vector<std::string> topologies(const Recording& run) {
  std::vector<std::string> names;
  for (const StepReport& step : run.steps) names.push_back(step.topology);
  return names;
}

bool said(const Recording& run, const std::string& part) {
  return std::any_of(run.messages.begin(), run.messages.end(),
                     [&](const std::string& text) { return text.find(part) != text.npos; });
}

const std::string seed_schedule = R"(
[[phase]]
until_step = 4
topology = "full_mesh"
[[phase]]
until_step = 8
topology = "random_clusters"
cluster_size = 2
[[phase]]
topology = "full_mesh"
)";

}  // namespace

TEST_CASE("consensus distance and rejoining, in closed form") {
  run_ranks(4, [](Communicator& comm) {
    // Ranks hold 1, 2, 3, 4 everywhere: the mean is 2.5, the mean square distance 1.25.
    const Tensor values = empty({10});
    fill(values, 1.0 + comm.rank());
    const double distance = consensus_distance(values, comm);
    if (std::abs(distance - std::sqrt(1.25) / 2.5) > 1e-12) throw std::runtime_error("distance");
    if (to_doubles(values)[3] != 1.0 + comm.rank()) throw std::runtime_error("values changed");
    average(values, comm);
    for (const double v : to_doubles(values))
      if (v != 2.5) throw std::runtime_error("average");
    const auto pairs = make_topology("exponential");  // at step 1: 0 with 2, 1 with 3
    fill(values, 1.0 + comm.rank());
    average(values, comm, {*pairs, 0, 1});
    if (to_doubles(values)[0] != (comm.rank() % 2 == 0 ? 2.0 : 3.0))
      throw std::runtime_error("pair");
  });
}

TEST_CASE("phases switch the wires, part the replicas and join them again") {
  const ScratchFolder scratch;
  const Config config = with_phases(scratch.path, seed_schedule);
  const Recording run = train(config, 4);  // compares the replicas' hashes at every global step
  std::vector<std::string> expected(4, "full_mesh");
  expected.insert(expected.end(), 4, "random_clusters");
  expected.insert(expected.end(), 4, "full_mesh");
  CHECK(topologies(run) == expected);
  CHECK(run.steps[3].sync == "every_step");
  CHECK(run.steps[4].sync == "local_sgd");
  CHECK(said(run, "step 9: the ranks are one again: consensus distance"));
  CHECK(said(run, "step 8: consensus distance"));
  CHECK_FALSE(said(run, "step 4: consensus distance"));
  const Recording plain = train(small_config(scratch.path), 1);
  CHECK(std::abs(run.steps.back().loss - plain.steps[11].loss) < 0.2);
  CHECK(run.steps.back().tokens == plain.steps[11].tokens);
}

TEST_CASE("an epoch ends a phase at the first step that begins in the next one") {
  const ScratchFolder scratch;
  // 169 windows in steps of 12: the first epoch lasts 14.08 steps, so the 15th is still in it.
  Config config = with_phases(scratch.path, R"(
[[phase]]
until_epoch = 1
topology = "tree"
)");
  config.run.steps = 17;
  config.comm.topology = "ring";
  const auto names = topologies(train(config, 2));
  CHECK(names[14] == "tree");
  CHECK(names[15] == "ring");
}

TEST_CASE("stopping and resuming in any phase changes nothing") {
  const ScratchFolder scratch;
  Config config = with_phases(scratch.path, seed_schedule);
  config.model.dropout = 0.1;
  config.checkpoint.every = 1;
  config.checkpoint.keep = 100;
  const Recording whole = train(config, 4);
  for (const int step : {2, 4, 6, 8, 10}) {
    INFO("from step " << step);
    Config again = config;
    again.checkpoint.dir = scratch.path + "/again";
    const Recording rest = train(again, 4, scratch.path + "/ckpt/step-" + std::to_string(step));
    CHECK(rest.steps.size() == 12u - static_cast<unsigned>(step));
    CHECK(rest.final_values == whole.final_values);
  }
  CHECK_THROWS_WITH(train(config, 3, scratch.path + "/ckpt/step-6"),
                    Catch::Contains("resume with 4 ranks"));
  CHECK_NOTHROW(train(config, 3, scratch.path + "/ckpt/step-10"));
}

TEST_CASE("local_sgd: one rank is plain training, several send a period's share of the bytes") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 8;
  config.comm.hash_every = 0;
  const Recording plain = train(config, 1), every = train(config, 4);
  config.sync.rule = "local_sgd";
  config.sync.period = 4;
  CHECK(train(config, 1).final_values == plain.final_values);
  const Recording local = train(config, 4);
  // Between the averages only 48 bytes a step travel to every other rank.
  CHECK(local.steps[2].bytes_sent < 1000);
  const auto gradients = static_cast<double>(every.steps[7].bytes_sent);
  CHECK(static_cast<double>(local.steps[7].bytes_sent) / gradients == Approx(0.25).margin(0.01));
  CHECK(std::abs(local.steps.back().loss - plain.steps.back().loss) < 0.3);
}

TEST_CASE("phases are read, printed and refused by line") {
  const Config config = with_phases("/tmp", seed_schedule);
  Config again;
  read_toml(again, print_config(config), "printed.toml");
  CHECK(print_config(again) == print_config(config));
  CHECK(during_phase(config, config.phases[1]).comm.cluster_size == 2);
  const auto refused = [](const std::string& toml, const std::string& message) {
    Config c;
    CHECK_THROWS_WITH(read_toml(c, toml, "f.toml"), Catch::Contains(message));
  };
  refused("[[phase]]\ntopology = \"star\"\n", "f.toml:2: comm.topology must be one of");
  refused("[[phase]]\nwires = 3\n", "f.toml:2: unknown key wires");
  refused("[[phase]]\nuntil_step = 0\n", "f.toml:2: until_step must be an integer greater than 0");
  refused("[[phase]]\nuntil_epoch = \"x\"\n", "f.toml:2: until_epoch must be a number");
  refused("[[phase]]\n[[phase]]\n", "never ends");
  refused("[[phase]]\nuntil_step = 3\nuntil_epoch = 1\n", "not both");
  refused("phase = 3\n", "f.toml:1");
  refused("[phase]\nuntil_step = 3\n", "f.toml:1");
}

TEST_CASE("what a phase cannot have is refused with the reason") {
  const ScratchFolder scratch;
  Config config = with_phases(scratch.path, seed_schedule);
  config.comm.reduction = "exact";
  CHECK_THROWS_WITH(validate(config, 4), Catch::Contains("phase 2: comm.reduction exact") &&
                                             Catch::Contains("groups only some of the 4 ranks"));
  CHECK_NOTHROW(validate(config, 2));  // clusters of 2 are everybody
  config.comm.reduction = "fast";
  config.comm.wire = "bf16";
  CHECK_THROWS_WITH(validate(config, 4), Catch::Contains("phase 2: comm.wire bf16"));
  config = small_config(scratch.path);
  config.sync.rule = "local_sgd";
  config.comm.reduction = "exact";
  CHECK_THROWS_WITH(validate(config, 4), Catch::Contains("averages parameters"));
}
