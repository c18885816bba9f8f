#include "train/observe/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace skep {
namespace {

struct Process {
  int parent = 0;
  std::string name;
};

// /proc/N/stat reads "N (name) state parent …"; the name may hold anything, parentheses too.
Process look_up(int id) {
  std::ifstream file(fmt::format("/proc/{}/stat", id));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close + 4 > text.size()) return {};
  return {std::atoi(text.c_str() + close + 4), text.substr(open + 1, close - open - 1)};
}

// The launcher this process descends from, perhaps through a shell or two; 0 when there is none.
int find_launcher() {
  for (int id = getppid(); id > 1;) {
    const Process process = look_up(id);
    if (hides_terminal(process.name)) return id;
    id = process.parent;
  }
  return 0;
}

// Only character devices are opened: opening the end of a pipe could wake its other one.
int open_terminal(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return -1;
  const int descriptor = open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor >= 0 && isatty(descriptor) == 1) return descriptor;
  if (descriptor >= 0) close(descriptor);
  return -1;
}

bool is_set(const char* variable, std::string_view to) {
  const char* value = std::getenv(variable);
  return value != nullptr && value == to;
}

}  // namespace

Terminal::~Terminal() { close(descriptor_); }

int Terminal::columns() const {
  winsize size{};
  const bool known = ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

bool hides_terminal(std::string_view program_name) {
  constexpr std::array<std::string_view, 6> names{"mpirun",  "mpiexec", "orterun",
                                                  "prterun", "orted",   "prted"};
  return std::find(names.begin(), names.end(), program_name) != names.end();
}

std::unique_ptr<Terminal> find_terminal() {
  if (isatty(STDOUT_FILENO) != 1 || is_set("TERM", "dumb") ||
      is_set("OMPI_MCA_orte_tag_output", "1") || is_set("OMPI_MCA_orte_timestamp_output", "1"))
    return nullptr;
  const int launcher = find_launcher();
  const int descriptor =
      open_terminal(launcher == 0 ? "/proc/self/fd/1" : fmt::format("/proc/{}/fd/1", launcher));
  return descriptor < 0 ? nullptr : std::make_unique<Terminal>(descriptor);
}

}  // namespace skep
