#pragma once
// The version all programs of Skep share.
#include <string>

namespace skep {

std::string version();       ///< "0.1.0"
std::string version_line();  ///< "skep 0.1.0\n": what --version prints

}  // namespace skep
