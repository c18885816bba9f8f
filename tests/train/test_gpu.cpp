// Whole trainings on the GPU, here a simulated one: the losses of the CPU, whatever the ways of
// meeting and the types; and no kernel that the run launches could be wrong without being noticed.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "engine/backends/devices.h"
#include "train/device.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

TEST_CASE("device.kind: what is there, and what is asked for") {
  const GpuSupport gpus = gpu_support();
  CHECK(choose_device("cpu", {}).device == Device{});
  CHECK(choose_device("cpu", {}).reason.empty());
  if (gpus.devices == 0) {
    CHECK_THROWS_WITH(choose_device("cuda", {}), "device.kind cuda: " + gpus.reason);
    CHECK(choose_device("auto", {}).reason == gpus.reason);
  }
  if (gpus.devices == 1) {
    CHECK_THROWS_WITH(choose_device("cuda", {1, 2}),
                      "device.kind cuda: this host has 1 GPU for 2 ranks: start 1 there, or let "
                      "them take turns with device.share");
    CHECK(choose_device("cuda", {1, 2}, Sharing::yes).device == Device{Device::Kind::cuda, 0});
  }
  if (gpus.devices == 0 || gpus.simulated) CHECK(choose_device("auto", {}).device == Device{});
}

#ifdef SKEP_SIMULATED_GPU
#include "engine/backends/cuda/simulated/scheduler.h"
#include "engine/backends/cuda/simulated/streams.h"

namespace {

Config tiny_config(const std::string& folder) {
  Config config = small_config(folder);
  config.model.layers = 1;
  config.model.width = 16;
  config.model.context = 8;
  config.model.dropout = 0.1;
  config.run.steps = 4;
  config.run.eval_batches = 1;
  config.batch.global_batch = 8;
  config.comm.hash_every = 0;
  return config;
}

Recording train_on(const char* device, Config config, int ranks = 1,
                   const std::string& resume = "") {
  config.device.kind = device;
  config.device.share = true;
  config.run.dir += std::string("-") + device;
  return train(config, ranks, resume);
}

double largest_difference(const Recording& a, const Recording& b) {
  double worst = a.steps.size() == b.steps.size() ? 0 : INFINITY;
  const auto look = [&](double x, double y) {
    const double d = std::abs(x - y);
    worst = d <= worst ? worst : std::isnan(d) ? INFINITY : d;
  };
  for (std::size_t i = 0; i < a.steps.size() && i < b.steps.size(); ++i) {
    look(a.steps[i].loss, b.steps[i].loss);
    look(a.steps[i].grad_norm, b.steps[i].grad_norm);
  }
  look(a.validations.back(), b.validations.back());
  return worst;
}

}  // namespace

TEST_CASE("gpu: a step asks for all its work before the host waits for any of it", "[gpu]") {
  const ScratchFolder scratch;
  Config config = tiny_config(scratch.path);
  config.model.width = 12;  // attention is then by our kernels: the simulated library's waits
  const auto waits_of = [&](std::int64_t steps, const char* compute) {
    const std::int64_t before = simulated::streams().host_waits();
    config.run.steps = steps;
    config.run.dir = fmt::format("{}/{}-{}", scratch.path, compute, steps);
    config.precision.compute = compute;
    train_on("cuda", config);
    return simulated::streams().host_waits() - before;
  };
  for (const char* compute : {"fp32", "fp16"}) CHECK(waits_of(8, compute) == waits_of(4, compute));
  config.loss.z_weight = 1e-3;
  CHECK(waits_of(8, "bf16") == waits_of(4, "bf16"));
}

TEST_CASE("gpu: gradients that leave from its memory are those that pass through the host's",
          "[gpu]") {
  const ScratchFolder scratch;
  Config config = tiny_config(scratch.path);
  config.device.kind = "cuda";
  config.device.share = true;
  for (const char* rule : {"every_step", "accumulate"}) {
    config.sync.rule = rule;
    config.run.steps = 8;
    const auto values = [&](const char* transport, MessagePath::Way way) {
      config.run.dir = fmt::format("{}/{}-{}", scratch.path, rule, static_cast<int>(way));
      config.comm.transport = transport;
      return train(config, 2, "",
                   [&](Parts& parts) {
                     if (way == MessagePath::Way::by_mpi) {  // plans do as well in one process
                       parts.reduction = make_device_reduction();
                       parts.phases = make_phases(config, parts.comm, {}, parts.reduction, 1);
                     }
                   })
          .final_values;
    };
    const auto by_host = values("plans", MessagePath::Way::through_host);
    CHECK(values("plans", MessagePath::Way::by_mpi) == by_host);
    CHECK(values("nccl", MessagePath::Way::by_nccl) == by_host);
  }
}

TEST_CASE("gpu: fifty steps have the losses of the CPU, alone and as two ranks", "[gpu]") {
  const ScratchFolder scratch;
  Config config = tiny_config(scratch.path);
  config.run.steps = 50;
  const Recording cpu = train_on("cpu", config);
  CHECK(cpu.steps.back().loss < cpu.steps.front().loss - 0.1);
  const Recording alone = train_on("cuda", config);
  CHECK(largest_difference(alone, cpu) < 1e-4);
  CHECK(alone.steps.back().peak_gpu_bytes > 0);
  CHECK(alone.steps.back().gpu_bytes >= alone.steps.back().peak_gpu_bytes);
  CHECK(cpu.steps.back().gpu_bytes == 0);
  CHECK(largest_difference(train_on("cuda", config, 2), cpu) < 1e-4);
}

TEST_CASE("gpu: every way to meet, every type", "[gpu]") {
  const ScratchFolder scratch;
  const std::vector<std::function<void(Config&)>> ways = {
      [](Config& c) { c.comm.reduction = "exact"; },
      [](Config& c) { c.compress.codec = "int8"; },
      [](Config& c) { c.compress.codec = "topk"; },
      [](Config& c) { c.sync.rule = "accumulate", c.sync.period = 2; },
      [](Config& c) { c.sync.rule = "local_sgd", c.sync.period = 2; },
      [](Config& c) { c.sync.rule = "diloco", c.sync.period = 2; },
      [](Config& c) { c.precision.compute = "bf16"; },
      [](Config& c) { c.precision.compute = "fp16"; },
      [](Config& c) { c.model.recompute = true; },
      [](Config& c) { c.loss.view_weighting = "adaptive"; },
      [](Config& c) { c.loss.z_weight = 0.01, c.loss.task_weighting = "uncertainty"; },
      [](Config& c) { c.optim.kind = "sgd"; }};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    Config config = tiny_config(scratch.path);
    ways[i](config);
    INFO("way " << i);
    const bool narrow = config.precision.compute != "fp32";
    CHECK(largest_difference(train_on("cuda", config, 2), train_on("cpu", config, 2)) <
          (narrow ? 2e-2 : 1e-4));
  }
}

TEST_CASE("gpu: a checkpoint of the one goes on on the other, and bit for bit on the same",
          "[gpu]") {
  const ScratchFolder scratch;
  Config config = tiny_config(scratch.path);
  config.loss.z_weight = 0.01;
  config.loss.task_weighting = "uncertainty";
  const Recording whole = train_on("cuda", config);
  Config half = config;
  half.run.steps = 2;
  half.run.dir = scratch.path + "/half";
  train_on("cuda", half);
  const std::string checkpoint = half.run.dir + "-cuda/ckpt/step-2";
  config.run.dir = scratch.path + "/rest";
  const Recording same = train_on("cuda", config, 1, checkpoint);
  CHECK((same.final_values == whole.final_values));
  const Recording other = train_on("cpu", config, 1, checkpoint);
  CHECK(std::abs(other.validations.back() - whole.validations.back()) < 1e-4);
}

TEST_CASE("gpu: a fault in any kernel of the run shows in its losses", "[gpu]") {
  const ScratchFolder scratch;
  Config config = tiny_config(scratch.path);
  simulated::take_kernels_seen();
  const Recording right = train_on("cuda", config);
  const auto kernels = simulated::take_kernels_seen();
  CHECK(kernels.size() >= 20);
  for (const simulated::Kernel& kernel : kernels) {
    simulated::break_kernel(kernel);
    bool noticed = false;
    try {
      noticed = !(largest_difference(train_on("cuda", config), right) == 0);
    } catch (const Error&) {
      noticed = true;  // lost numbers
    }
    simulated::break_kernel({});
    INFO(kernel.arguments);
    CHECK(noticed);
  }
}
#endif
