#pragma once
// What bash completes after `train`: keys, their names where a choice is made among names, files.
#include <string>
#include <vector>

namespace skep {

/// A script for bash to source. `flags` are the options that are no keys, "--help" and so on; of
/// these --config takes a file.
std::string bash_completion(const std::vector<std::string>& flags);

}  // namespace skep
