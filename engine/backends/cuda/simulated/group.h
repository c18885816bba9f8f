#pragma once
// Simulated GPUs that sum with each other, across threads and processes of this machine: the memory
// in which they meet is a file that all of them map, named by the group's id.
#include "engine/backends/cuda/runtime.h"

namespace skep::simulated {

cuda::GroupId make_group_id();
std::unique_ptr<cuda::Group> join(const cuda::GroupId& id, int rank, int size);

}  // namespace skep::simulated
