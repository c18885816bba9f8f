#pragma once
// From names to parts: the only place where a configuration's words choose code.
#include "mpi_comm/watchdog.h"
#include "train/config.h"
#include "train/trainer.h"

namespace skep {

/// The type that precision.compute names.
DType compute_dtype(const PrecisionSection& precision);

/// The model of a configuration, for a vocabulary of `known_ids` ids in `rows` rows.
ModelConfig model_config(const ModelSection& section, std::int64_t known_ids, std::int64_t rows);

/// Bytes of weights, gradients and optimizer: the least that training takes.
double least_training_bytes(const ModelConfig& model);

/// `hosts`: the host of each rank; empty: all on one.
Parts build_parts(const Config& config, Communicator& comm, const std::vector<int>& hosts = {});
Limits build_limits(const Config& config);

/// A log on every rank; on rank 0 metrics.jsonl, what observe asks for, and the console (as
/// run.progress says). `first`: the step the run starts from. `parts` stay where they are.
void add_observers(Parts& parts, const Config& config, std::int64_t first);

/// Watches this rank from now on, as comm.timeout says; null for a single rank or a timeout of 0.
/// The run's folder exists.
std::unique_ptr<Watchdog> build_watchdog(const Config& config, Communicator& comm);

}  // namespace skep
