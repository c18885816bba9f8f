#pragma once
// Carries out the plans of all ranks in one process, without threads and without MPI, and says what
// is wrong with them. A round here ends only when its sends have been taken (as a large message
// under MPI) and takes what it combines one by one, so a plan that leans on buffering shows up as a
// deadlock.
#include <cstdint>
#include <string>
#include <vector>

#include "mpi_comm/plan.h"

namespace skep {

/// Faults found, in words with rank and round; empty when the plans fit together:
/// every send meets a receive of the same range (of the same size where each rank numbers its own
/// buffer), no deadlock, no range outside its buffer, and no
/// range of a round written while it is sent or written twice.
/// `buffers[r]` is rank r's data and holds the result afterwards. Arrivals are
/// combined by addition.
template <class T>
std::vector<std::string> simulate(const std::vector<Plan>& plans,
                                  std::vector<std::vector<T>>& buffers);

extern template std::vector<std::string> simulate(const std::vector<Plan>&,
                                                  std::vector<std::vector<float>>&);
extern template std::vector<std::string> simulate(const std::vector<Plan>&,
                                                  std::vector<std::vector<std::int64_t>>&);

}  // namespace skep
