#pragma once
// The folder of a run: config.toml and env.json say what was run where, metrics.jsonl what
// happened, log.rank-N what each rank had to say, ckpt/ what it learned,
// lr_history.csv how each cycle of the learning rate ended, heartbeat.rank-N that a rank is alive,
// flight.rank-N.json how it failed, bad_batch.rank-R.step-N.json what it could not learn from.
#include <string>

#include "mpi_comm/environment.h"
#include "train/config.h"

namespace skep {

/// Held while a run writes into a folder: a second run there is Error(usage), which says what to
/// set to another one.
class RunLock {
 public:
  RunLock(const std::string& folder, const std::string& keys);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int descriptor_;
};

/// Writes config.toml and env.json, and makes sure that checkpoints of about so many bytes can be
/// written; a warning when only the first will fit. For rank 0, under the lock. Error(storage).
/// Nothing of an earlier run is overwritten: what a run from step 0 finds, and checkpoints later
/// than `first_step`, move into a subfolder previous-K.
std::string prepare_run_folder(const Config& config, std::int64_t first_step,
                               double checkpoint_bytes, const Environment& environment,
                               const std::string& command_line);

}  // namespace skep
