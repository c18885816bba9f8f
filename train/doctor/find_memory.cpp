// RAM, shared memory, and what a container leaves of both: cgroups of version 2 (one tree) and 1 (a
// tree for each resource).
#include <sys/statvfs.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "train/doctor/facts.h"
#include "train/doctor/memory.h"

namespace skep::doctor {
namespace {

constexpr double unlimited = 1e18;

// The number in a file, or `otherwise` when there is none ("max").
double number_in(const std::string& path, double otherwise) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? value : otherwise;
}

Memory ram() {
  Memory memory{unlimited, unlimited};
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("MemAvailable:"))
      memory.available_bytes = 1024 * std::stod(line.substr(13));
    if (line.starts_with("MemTotal:")) memory.total_bytes = 1024 * std::stod(line.substr(9));
  }
  return memory;
}

// The folders of this process's own cgroup and those above it; `resource` names a tree of
// version 1.
std::vector<std::string> own_groups(const std::string& resource) {
  std::ifstream file("/proc/self/cgroup");  // lines of number:resources:path
  std::vector<std::string> folders;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string resources = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool second_version = resources == ",,";
    if (!second_version && resources.find("," + resource + ",") == std::string::npos) continue;
    const std::string root = "/sys/fs/cgroup" + (second_version ? "" : "/" + resource);
    for (std::string path = line.substr(second + 1); !path.empty(); path.resize(path.rfind('/')))
      folders.push_back(root + (path == "/" ? "" : path));
    folders.push_back(root);
  }
  return folders;
}

// What is left below the tightest limit.
Memory within_container() {
  Memory least{unlimited, unlimited};
  for (const std::string& folder : own_groups("memory")) {
    const double limit = std::min(number_in(folder + "/memory.max", unlimited),
                                  number_in(folder + "/memory.limit_in_bytes", unlimited));
    const double used = std::max(number_in(folder + "/memory.current", 0),
                                 number_in(folder + "/memory.usage_in_bytes", 0));
    // What files occupy is given back when programs need it.
    double files = 0;
    std::ifstream statistics(folder + "/memory.stat");
    for (std::string name, value; statistics >> name >> value;)
      if (name == "inactive_file" || name == "total_inactive_file")
        files = std::max(files, std::stod(value));
    const double left = std::max(0.0, limit - used + files);
    if (limit < unlimited && left < least.available_bytes) least = {left, limit};
  }
  return least;
}

// CPUs granted a moment: time allowed in each period.
double granted_processors() {
  double least = 0;
  for (const std::string& folder : own_groups("cpu")) {
    double time = number_in(folder + "/cpu.cfs_quota_us", -1);
    double period = number_in(folder + "/cpu.cfs_period_us", 0);
    std::ifstream second_version(folder + "/cpu.max");  // "max 100000" or "50000 100000"
    if (std::string quota; second_version >> quota >> period)
      time = quota == "max" ? -1 : std::stod(quota);
    if (time > 0 && period > 0 && (least == 0 || time / period < least)) least = time / period;
  }
  return least;
}

}  // namespace

Memory find_memory() {
  const Memory machine = ram(), container = within_container();
  return machine.available_bytes < container.available_bytes ? machine : container;
}

void find_memory(Facts& facts) {
  facts.available_bytes = find_memory().available_bytes;
  facts.processor_quota = granted_processors();
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) == 0)
    facts.shared_memory_bytes =
        static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize);
}

}  // namespace skep::doctor
