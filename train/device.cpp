#include "train/device.h"

#include <fmt/format.h>

#include "engine/backends/devices.h"
#include "engine/core/error.h"

namespace skep {
namespace {

// Empty when every rank of the host can have a GPU.
std::string hindrance(const GpuSupport& gpus, int local_ranks, Sharing sharing) {
  if (gpus.devices == 0) return gpus.reason;
  if (gpus.devices < local_ranks && sharing == Sharing::no)
    return fmt::format(
        "this host has {} GPU{} for {} ranks: start {} there, or let them take "
        "turns with device.share",
        gpus.devices, gpus.devices > 1 ? "s" : "", local_ranks, gpus.devices);
  return "";
}

}  // namespace

ChosenDevice choose_device(const std::string& kind, const LocalPlace& place, Sharing sharing) {
  if (kind == "cpu") return {};
  const GpuSupport gpus = gpu_support();
  std::string why_not = hindrance(gpus, place.ranks, sharing);
  if (kind == "auto" && gpus.simulated) why_not = "the GPU of this build is only simulated";
  if (!why_not.empty()) {
    if (kind == "cuda") fail(ErrorKind::usage, "device.kind cuda: {}", why_not);
    return {{}, why_not};
  }
  return {{Device::Kind::cuda, place.rank % gpus.devices}, ""};
}

}  // namespace skep
