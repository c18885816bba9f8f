#pragma once
// Which GPUs this process could use.
#include <string>

namespace skep {

struct GpuSupport {
  int devices = 0;
  std::string reason;      ///< why there is none
  bool simulated = false;  ///< on the host, for tests: never chosen by itself
};

/// Of this binary on this machine.
GpuSupport gpu_support();

/// "NVIDIA H200, 139.8 GB".
std::string describe_gpu(int index);

}  // namespace skep
