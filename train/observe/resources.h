#pragma once
// What this process uses.
#include <cstdint>

namespace skep {

/// Memory in RAM right now, in bytes; 0 where /proc does not tell.
std::int64_t resident_bytes();

}  // namespace skep
