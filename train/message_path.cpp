#include "train/message_path.h"

#include "engine/backends/backend.h"
#include "engine/backends/devices.h"
#include "engine/kernels/copy.h"
#include "mpi_comm/environment.h"

namespace skep {
namespace {

using Way = MessagePath::Way;

constexpr const char* no_gpu = "not every rank computes on a GPU (device.kind cuda says why)";
constexpr const char* what_it_takes =
    "it takes comm.reduction fast, comm.wire fp32, no codec, one topology among all ranks, and "
    "sync.rule every_step or accumulate";

// What a library's own sums can stand in for.
bool plain_sums(const Config& config, int ranks) {
  const CommSection& comm = config.comm;
  const bool meets = config.sync.rule == "every_step" || config.sync.rule == "accumulate";
  const std::string topology = comm.topology == "auto" ? "ring" : comm.topology;
  return meets && config.phases.empty() && config.compress.codec == "none" &&
         comm.reduction == "fast" && comm.wire == "fp32" &&
         make_topology(topology, {static_cast<int>(comm.cluster_size), {}})->reach(ranks) ==
             Reach::global;
}

bool all(Communicator& comm, bool here) {
  return comm.all_reduce(std::int64_t{here}, Combine::min) > 0;
}

// A sum over the ranks in the devices' memory, of numbers that are exact in fp32.
template <class Sum>
bool arrives(Communicator& comm, Device device, Sum sum) {
  const Tensor numbers = empty({1000}, DType::f32, device);
  fill(numbers, comm.rank() + 1);
  sum(numbers);
  const double want = 0.5 * comm.size() * (comm.size() + 1);
  bool right = true;
  for (const double got : to_doubles(numbers)) right &= got == want;
  return all(comm, right);
}

void sum_by_mpi(Communicator& comm, const Tensor& numbers) {
  backend(numbers.device()).reached()->wait();
  const auto exposed = backend(numbers.device()).expose();
  comm.all_reduce(std::span(numbers.data<float>(), static_cast<std::size_t>(numbers.numel())));
}

std::shared_ptr<DeviceGroup> join(Communicator& comm, Device device) {
  DeviceGroupId id{};
  if (comm.rank() == 0) id = make_group_id(device);
  comm.broadcast(id, 0);
  return join_group(device, id, comm.rank(), comm.size());
}

std::string why_not_by_nccl(const Config& config, Communicator& comm, Device device) {
  if (!all(comm, device.kind == Device::Kind::cuda)) return no_gpu;
  if (!plain_sums(config, comm.size())) return what_it_takes;
  const std::string reason = why_no_groups(device);
  if (!all(comm, reason.empty())) return reason.empty() ? "another rank has no NCCL" : reason;
  if (config.device.share && !gpu_support().simulated)
    return "each rank needs a GPU of its own, and device.share is on";
  return "";
}

std::string why_not_by_mpi(const Config& config, Communicator& comm, Device device) {
  if (config.device.cuda_aware_mpi == "off") return "device.cuda_aware_mpi is off";
  if (!all(comm, device.kind == Device::Kind::cuda)) return no_gpu;
  if (config.comm.transport != "mpi") return "comm.transport is not mpi";
  if (!plain_sums(config, comm.size())) return what_it_takes;
  if (!all(comm, mpi_takes_device_memory() || gpu_support().simulated))
    return mpi_library() + " does not take addresses in a GPU's memory";
  if (!arrives(comm, device, [&](const Tensor& numbers) { sum_by_mpi(comm, numbers); }))
    return mpi_library() +
           " says that it takes addresses in a GPU's memory, but a sum from there "
           "came back wrong";
  return "";
}

MessagePath path_by_nccl(const Config& config, Communicator& comm, Device device) {
  const std::string reason = why_not_by_nccl(config, comm, device);
  if (!reason.empty()) fail(ErrorKind::usage, "comm.transport nccl: {}", reason);
  const auto group = join(comm, device);
  if (!arrives(comm, device,
               [&](const Tensor& numbers) { group->start_sum(numbers)->hold_back(); }))
    fail(ErrorKind::usage, "comm.transport nccl: a sum over the GPUs came back wrong");
  return {Way::by_nccl, "", group};
}

}  // namespace

MessagePath choose_message_path(const Config& config, Communicator& comm, Device device) {
  if (comm.size() == 1) return {Way::through_host, "there is no other rank", nullptr};
  if (config.comm.transport == "nccl") return path_by_nccl(config, comm, device);
  const std::string reason = why_not_by_mpi(config, comm, device);
  if (config.device.cuda_aware_mpi == "on" && !reason.empty())
    fail(ErrorKind::usage, "device.cuda_aware_mpi on: {}", reason);
  return {reason.empty() ? Way::by_mpi : Way::through_host, reason, nullptr};
}

}  // namespace skep
