#pragma once
#include "engine/backends/cuda/library/context.h"

namespace skep::cuda {

/// An Event of this GPU's streams.
std::unique_ptr<Event> make_event(const Context& context);

}  // namespace skep::cuda
