#pragma once
// The folder of a run: config.toml and env.json say what was run where, metrics.jsonl what
// happened, log.rank-N what each rank had to say, ckpt/ what it learned.
#include <string>

#include "mpi_comm/environment.h"
#include "train/config.h"

namespace skep {

/// Makes the folder and writes config.toml and env.json. For rank 0. Error(storage). A run that
/// starts at step 0 where an earlier one lies moves that one to FOLDER.previous-K first, and
/// likewise a checkpoint folder of its own.
void prepare_run_folder(const Config& config, std::int64_t first_step,
                        const Environment& environment, const std::string& command_line);

}  // namespace skep
