#include "engine/backends/devices.h"

#include <fmt/format.h>

#ifdef SKEP_HAS_GPU
#include "engine/backends/cuda/runtime.h"
#endif

namespace skep {

#ifdef SKEP_HAS_GPU

GpuSupport gpu_support() {
  const cuda::Availability found = cuda::available();
  return {found.devices, found.reason, found.simulated};
}

std::string describe_gpu(int index) {
  const cuda::DeviceInfo info = cuda::runtime(index).info();
  return fmt::format("{}, {:.1f} GB", info.name, static_cast<double>(info.total_bytes) / 1e9);
}

#else

GpuSupport gpu_support() { return {0, "this build has no CUDA", false}; }
std::string describe_gpu(int) { return ""; }

#endif

}  // namespace skep
