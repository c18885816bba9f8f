#include "train/device.h"

#include <fmt/format.h>

#include "engine/backends/devices.h"
#include "engine/core/error.h"

namespace skep {
namespace {

// Empty when every rank of the host can have a GPU.
std::string hindrance(const GpuSupport& gpus, int local_ranks) {
  if (gpus.devices == 0) return gpus.reason;
  if (gpus.devices < local_ranks && !gpus.simulated)
    return fmt::format("this host has {} GPU{} for {} ranks: start {} there", gpus.devices,
                       gpus.devices > 1 ? "s" : "", local_ranks, gpus.devices);
  return "";
}

}  // namespace

ChosenDevice choose_device(const std::string& kind, const LocalPlace& place) {
  if (kind == "cpu") return {};
  const GpuSupport gpus = gpu_support();
  std::string why_not = hindrance(gpus, place.ranks);
  if (kind == "cuda") {
    if (!why_not.empty()) fail(ErrorKind::usage, "device.kind cuda: {}", why_not);
    return {{Device::Kind::cuda, gpus.simulated ? 0 : place.rank}, ""};
  }
  if (why_not.empty() && gpus.simulated) why_not = "the GPU of this build is only simulated";
  if (!why_not.empty()) return {{}, why_not};
  return {{Device::Kind::cuda, place.rank}, ""};
}

}  // namespace skep
