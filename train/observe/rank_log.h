#pragma once
// log.rank-N in the run folder: what this rank had to say, with times and levels, and every
// run.log_every steps how it fared.
#include <memory>
#include <string>

#include "train/observe/observer.h"

namespace skep {

/// Appends to FOLDER/log.rank-RANK. Error(storage) when it cannot be opened.
std::unique_ptr<Observer> make_rank_log(const std::string& folder, int rank);

}  // namespace skep
