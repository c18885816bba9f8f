#pragma once
// The memory that this process can still get.

namespace skep::doctor {

struct Memory {
  double available_bytes = 0;
  double total_bytes = 0;  ///< of which that is left
};

/// Of the machine, or of the tightest limit that a container sets where that leaves less. About
/// 1e18 where the system does not tell.
Memory find_memory();

}  // namespace skep::doctor
