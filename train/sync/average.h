#pragma once
// Replicas that are apart: averaging them, measuring how far apart they are, and making them one
// again.
#include "engine/optim/optimizer.h"
#include "model/parameter_store.h"
#include "mpi_comm/communicator.h"
#include "train/precision/loss_scaler.h"

namespace skep {

/// fp32 `values` become the mean over the route's group, bit-identical within it. Collective.
void average(const Tensor& values, Communicator& comm, const Route& route = {});

/// Whether all ranks have the same bits. Collective.
bool all_same(const Tensor& values, Communicator& comm);

/// The root of the mean over all ranks of |θ_r - mean θ|², as a share of |mean θ|. Collective;
/// changes nothing.
double consensus_distance(const Tensor& values, Communicator& comm);

/// Parameters and optimizer state become the means over all ranks (counters: the largest;
/// the loss scale: the smallest):
/// averaging parameters alone would not do, as different moments part them again at the next step.
/// Returns the consensus distance before. Collective.
double rejoin(ParameterStore& store, Optimizer& optimizer, LossScaler& scaler, Communicator& comm);

}  // namespace skep
