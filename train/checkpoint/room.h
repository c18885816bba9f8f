#pragma once
// Whether the disk has room for the checkpoints of a run, asked before it begins: found out at a
// save, the answer costs the steps since the save before.
#include <optional>
#include <string>

#include "train/checkpoint/content.h"
#include "train/config.h"

namespace skep {

/// About what one checkpoint takes: the tensors of all ranks.
double checkpoint_bytes(const CheckpointContent& content);

/// By how many the checkpoints grow, at most, in a run from `first_step` that finds `present` ones:
/// while one is written, those before it still exist.
std::int64_t added_checkpoints(const Config& config, std::int64_t first_step, std::int64_t present);

/// The warning that `count` checkpoints of `bytes` each do not fit into the `free` bytes of the
/// file system of `folder`; nothing when they do. Error(storage) when not even one does.
std::string find_lack_of_room(const std::string& folder, std::optional<double> free, double bytes,
                              std::int64_t count);

}  // namespace skep
