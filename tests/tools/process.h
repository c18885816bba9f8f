#pragma once
// Runs a binary of this project as a shell would, and keeps what it said.
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tests/train/helpers.h"

namespace skep {

struct Finished {
  int exit_code;
  std::string out, err;
};

/// `command` in a shell, with `input` on standard input; binaries of the project by their names.
inline Finished run_shell(const std::string& command, const std::string& input = "") {
  const TemporaryFolder folder;
  folder.file("in", input);
  const int status = std::system(fmt::format("PATH={}:$PATH; ( {} ) <{} >{} 2>{}", SKEP_BINARIES,
                                             command, folder / "in", folder / "out", folder / "err")
                                     .c_str());
  const auto contents = [&](const char* name) {
    std::ifstream file(folder / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents("out"), contents("err")};
}

/// The number on the line of `text` that starts with `name`.
inline double number_on_line(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + " ")) return std::stod(line.substr(name.size() + 1));
  FAIL("no line " << name << " in: " << text);
  return 0;
}

}  // namespace skep
