#include "train/version.h"

namespace skep {

std::string version() { return SKEP_VERSION; }

std::string version_line() { return "skep " + version() + "\n"; }

}  // namespace skep
