#pragma once
// What this process uses.
#include <cstdint>

namespace skep {

/// Memory in RAM right now, in bytes; 0 where /proc does not tell.
std::int64_t resident_bytes();

/// The most it has had in RAM so far, in bytes.
std::int64_t peak_resident_bytes();

/// Time its threads have spent on CPUs since it started, for itself and in the system for it.
double cpu_seconds();

}  // namespace skep
