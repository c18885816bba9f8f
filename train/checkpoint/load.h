#pragma once
// Restores a checkpoint, at any number of ranks unless each had state of its own.
#include <string>

#include "train/checkpoint/content.h"

namespace skep {

/// Restores weights and state, this rank's own where ranks have their own. Error(data) when
/// damaged, or when it does not fit the model or the number of ranks.
void load_checkpoint(const std::string& checkpoint, const CheckpointContent& content);

}  // namespace skep
