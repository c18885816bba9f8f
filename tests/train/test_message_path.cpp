#include <catch2/catch.hpp>

#include "engine/backends/devices.h"
#include "mpi_comm/thread_communicator.h"
#include "train/message_path.h"

using namespace skep;
using Catch::Contains;
using Way = MessagePath::Way;

namespace {

MessagePath path_of(const Config& config, Device device, int ranks) {
  MessagePath path;
  run_ranks(ranks, [&](Communicator& comm) {
    const MessagePath mine = choose_message_path(config, comm, device);
    if (comm.rank() == 0) path = mine;
  });
  return path;
}

}  // namespace

TEST_CASE("device.cuda_aware_mpi: why gradients pass through the host's memory") {
  Config config;
  config.device.cuda_aware_mpi = "on";
  CHECK(path_of(config, {}, 1).reason == "there is no other rank");
  CHECK_THROWS_WITH(path_of(config, {}, 2),
                    Contains("device.cuda_aware_mpi on: not every rank computes on a GPU"));
  config.device.cuda_aware_mpi = "off";
  CHECK(path_of(config, {}, 2).reason == "device.cuda_aware_mpi is off");
  config.device.cuda_aware_mpi = "auto";
  CHECK(path_of(config, {}, 2).reason ==
        "not every rank computes on a GPU (device.kind cuda says why)");
  CHECK(path_of(config, {}, 2).way == Way::through_host);
  config.comm.transport = "nccl";
  CHECK(path_of(config, {}, 1).way == Way::through_host);
  CHECK_THROWS_WITH(path_of(config, {}, 2),
                    Contains("comm.transport nccl: not every rank computes on a GPU"));
}

TEST_CASE("device.cuda_aware_mpi: only what a library can sum leaves from a GPU's memory") {
  if (gpu_support().devices == 0) return;
  const Device gpu{Device::Kind::cuda, 0};
  Config fitting;
  fitting.comm.transport = "mpi";  // in these threads plans carry it all the same
  CHECK((path_of(fitting, gpu, 2).way == Way::by_mpi) == gpu_support().simulated);
  std::vector<Config> others(7, fitting);
  others[0].comm.transport = "auto";
  others[1].comm.reduction = "exact";
  others[2].comm.wire = "bf16";
  others[3].compress.codec = "int8";
  others[4].sync.rule = "local_sgd";
  others[5].comm.topology = "random_clusters";
  others[5].comm.cluster_size = 2;
  others[6].phases.resize(1);
  for (const Config& config : others) {
    const MessagePath path = path_of(config, gpu, 4);
    CHECK(path.way == Way::through_host);
    CHECK_THAT(path.reason, Contains(config.comm.transport == "mpi" ? "it takes comm.reduction fast"
                                                                    : "comm.transport is not mpi"));
  }
}

TEST_CASE("comm.transport nccl: simulated GPUs sum with each other") {
  if (!gpu_support().simulated) return;
  const Device gpu{Device::Kind::cuda, 0};
  Config config;
  config.comm.transport = "nccl";
  config.device.share = true;
  CHECK(path_of(config, gpu, 3).way == Way::by_nccl);
  config.comm.reduction = "exact";
  CHECK_THROWS_WITH(path_of(config, gpu, 2),
                    Contains("comm.transport nccl: it takes comm.reduction fast"));
}
