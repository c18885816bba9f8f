#include "engine/backends/backend.h"

#include "engine/backends/cpu/cpu_backend.h"
#ifdef SKEP_HAS_GPU
#include "engine/backends/cuda/cuda_backend.h"
#endif

namespace skep {

Backend& backend(Device device) {
  if (device.kind == Device::Kind::cpu) return cpu_backend();
#ifdef SKEP_HAS_GPU
  return cuda_backend(device.index);
#else
  fail(ErrorKind::bug, "this binary was built without CUDA");
#endif
}

}  // namespace skep
