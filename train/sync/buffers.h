#pragma once
// Buffers: what the model reads besides its parameters (model/module.h). Every rank makes its own,
// and they are the same as long as the ranks' machines compute alike; to be sure, all take rank 0's
// before a step, as PyTorch's DistributedDataParallel does. Costs their bytes once a step.
#include "engine/core/archive.h"
#include "model/module.h"
#include "mpi_comm/communicator.h"

namespace skep {

/// Whose buffers a step computes with.
enum class Buffers { own, rank_0 };

/// Every rank takes rank 0's; the route's topology brings all of them together. Collective.
void broadcast_buffers(Module& model, Communicator& comm, const Route& route = {});

/// A field for each, called buffer.PATH.
void archive_buffers(Module& model, Archive& archive);

}  // namespace skep
