#pragma once
// The folder of a run's checkpoints, step-N each: which there are, which are whole, which go. One
// being written has another name until it is complete: a step-N that verifies is whole.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace skep {

/// FOLDER/step-N, and its name until it is complete.
std::string checkpoint_path(const std::string& folder, std::int64_t step);
std::string unfinished_path(const std::string& folder, std::int64_t step);

/// Folders called step-N in `folder`, newest first.
std::vector<std::string> list_checkpoints(const std::string& folder);

/// How many of them are of a step up to `step`.
std::int64_t count_checkpoints(const std::string& folder, std::int64_t step);

/// Gives a complete checkpoint its final name, in place of an older one of that step.
/// Error(storage).
void put_in_place(const std::string& folder, std::int64_t step);

/// Removes all but the `keep` newest checkpoints and what these continue, and what interrupted
/// saves left.
void prune_checkpoints(const std::string& folder, std::int64_t keep);

/// Moves checkpoints of steps after `step` into FOLDER/previous-K: a run that continues from `step`
/// writes its own. What they continue stands there too, as links to the same files. Returns that
/// subfolder, empty when there were none. Error(storage).
std::string set_aside_later(const std::string& folder, std::int64_t step);

/// The newest whole checkpoint in `folder`, empty if none; each one passed over is told to
/// `report`.
std::string newest_checkpoint(const std::string& folder,
                              const std::function<void(const std::string&)>& report);

}  // namespace skep
