#include "engine/backends/backend.h"

#include "engine/backends/cpu/cpu_backend.h"

namespace skep {

Matrix as_matrix(const Tensor& t) {
  check(t.rank() >= 2, "a matrix needs two dimensions, shape is {}", t.shape());
  return {t.raw(), t.dtype(), t.size(-2), t.size(-1), t.strides()[-2], t.strides()[-1]};
}

Backend& backend(Device device) {
  check(device.kind == Device::Kind::cpu, "this binary was built without CUDA");
  return cpu_backend();
}

}  // namespace skep
