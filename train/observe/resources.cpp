#include "train/observe/resources.h"

#include <unistd.h>

#include <fstream>

namespace skep {

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total_pages = 0, resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return statm ? resident_pages * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace skep
