#pragma once
// The CPU's half of the seam: a caching allocator, oneDNN or Eigen products, attention by panels.
#include "engine/backends/backend.h"

namespace skep {

Backend& cpu_backend();

}  // namespace skep
