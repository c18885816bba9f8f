#pragma once
// Checkpoints: RUN/ckpt/step-N/ holds model/ (a Hugging Face folder), state.safetensors (moments),
// state.json (numbers) and manifest.json (size and hash of every file), written last. A folder is
// prepared under another name and renamed when complete: one that exists and verifies is whole.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/archive.h"
#include "model/language_model.h"
#include "model/parameter_store.h"
#include "train/data/tokenizer.h"

namespace skep {

/// Everything a checkpoint holds. The archive function names the state that is not weights.
struct CheckpointContent {
  const LanguageModel& model;
  ParameterStore& parameters;
  const Tokenizer* tokenizer;  ///< or null
  std::function<void(Archive&)> archive;
  int rank = 0, ranks = 1;
  /// Whether each rank has weights and state of its own (kept in rank-R/), or all have rank 0's.
  enum class Replicas { shared, own } replicas = Replicas::shared;
};

/// Removes what an interrupted save of this step left. Before save_rank_state, on one rank.
void prepare_checkpoint(const std::string& folder, std::int64_t step);

/// Writes this rank's weights and state into the unfinished FOLDER/step-N. Error(storage).
void save_rank_state(const std::string& folder, std::int64_t step,
                     const CheckpointContent& content);

/// Writes FOLDER/step-N, with what save_rank_state has put there. Error(storage) on any failure,
/// with earlier checkpoints untouched.
void save_checkpoint(const std::string& folder, std::int64_t step,
                     const CheckpointContent& content);

/// Removes all but the `keep` newest checkpoints, and what interrupted saves left.
void prune_checkpoints(const std::string& folder, std::int64_t keep);

/// Moves checkpoints of steps after `step` into FOLDER/previous-K: a run that continues from `step`
/// writes its own. Returns that subfolder, empty when there were none.
std::string set_aside_later(const std::string& folder, std::int64_t step);

/// Checks every file against the manifest; the reason when it is damaged, empty when whole.
std::string find_damage(const std::string& checkpoint);

/// Restores weights and state, this rank's own where ranks have their own. Error(data) when
/// damaged, or when it does not fit the model or the number of ranks.
void load_checkpoint(const std::string& checkpoint, const CheckpointContent& content);

/// The newest whole checkpoint in `folder`, empty if none; each one passed over is told to
/// `report`.
std::string newest_checkpoint(const std::string& folder,
                              const std::function<void(const std::string&)>& report);

}  // namespace skep
