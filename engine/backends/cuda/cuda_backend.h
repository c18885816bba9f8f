#pragma once
#include "engine/backends/backend.h"

namespace skep {

/// The backend of GPU number `index`.
Backend& cuda_backend(int index);

}  // namespace skep
