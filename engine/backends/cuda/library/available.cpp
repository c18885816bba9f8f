// Which GPUs this process can use. On a machine without a driver CUDA answers with an error like
// any other: it is the reason, and the program goes on without a GPU.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "engine/backends/cuda/runtime.h"

namespace skep::cuda {
namespace {

constexpr int least_capability = 8;  // the oldest kernels in this binary are for sm_80

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// One code for two cases: no driver has version 0.
std::string insufficient_driver() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return "this machine has no NVIDIA driver";
  return fmt::format("the NVIDIA driver is too old: it knows CUDA {}, this build needs {}",
                     version_text(driver), version_text(CUDART_VERSION));
}

std::string reason_of(cudaError_t code) {
  if (code == cudaErrorInsufficientDriver) return insufficient_driver();
  if (code == cudaErrorNoDevice)
    return "the NVIDIA driver shows this process no GPU (CUDA_VISIBLE_DEVICES may hide it)";
  return fmt::format("CUDA does not start: {} ({})", cudaGetErrorString(code),
                     cudaGetErrorName(code));
}

// Empty when this binary's kernels run on the device.
std::string unfit(int device) {
  int major = 0, minor = 0;
  cudaError_t code = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (code == cudaSuccess)
    code = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (code != cudaSuccess) return reason_of(code);
  if (major >= least_capability) return "";
  return fmt::format("GPU {} has compute capability {}.{}, {}.0 is the least that serves", device,
                     major, minor, least_capability);
}

Availability look() {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code != cudaSuccess) return {.reason = reason_of(code)};
  if (devices == 0) return {.reason = reason_of(cudaErrorNoDevice)};
  // CUDA numbers the fastest GPUs first: what is unfit stands at the end.
  for (int device = 0; device < devices; ++device)
    if (const std::string reason = unfit(device); !reason.empty())
      return {.devices = device, .reason = device == 0 ? reason : ""};
  return {.devices = devices, .reason = ""};
}

}  // namespace

Availability available() {
  const Availability found = look();
  static_cast<void>(cudaGetLastError());  // or the first launch would report what look() met
  return found;
}

}  // namespace skep::cuda
