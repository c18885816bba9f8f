#pragma once
// The arithmetic of a reduction: two buffers become one, element by element.
#include <cstddef>

#include "mpi_comm/wire.h"

namespace skep {

/// How two values become one. max and min keep a NaN: a flag raised anywhere survives.
enum class Combine { sum, max, min };

/// into[i] = how(into[i], from[i]); the views have equal type and count and do not overlap.
void combine(Combine how, WireSpan into, WireView from);

}  // namespace skep
