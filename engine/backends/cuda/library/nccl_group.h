#pragma once
// NCCL, where the build has it.
#include "engine/backends/cuda/library/context.h"

namespace skep::cuda {

std::string why_no_nccl();
GroupId make_nccl_id();
std::unique_ptr<Group> join_nccl(const Context& context, const GroupId& id, int rank, int size);

}  // namespace skep::cuda
