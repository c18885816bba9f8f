#pragma once
// Restores a checkpoint, at any number of ranks unless each had state of its own.
#include <string>
#include <vector>

#include "train/checkpoint/content.h"

namespace skep {

/// Restores weights and state, this rank's own where ranks have their own. Error(data) when
/// damaged, or when it does not fit the model or the number of ranks. Returns what the checkpoint
/// and the run's settings do not have in common, for people.
std::vector<std::string> load_checkpoint(const std::string& checkpoint,
                                         const CheckpointContent& content);

}  // namespace skep
