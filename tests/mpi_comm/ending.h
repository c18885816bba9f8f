#pragma once
// Starts a program and watches how it ends.
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace skep {

struct Ending {
  int exit_code = -1;
  std::vector<std::string> lines;  // those of the program: `rank r (host): …`
  double seconds = 0;
};

inline Ending watch(const std::string& command) {
  const auto start = std::chrono::steady_clock::now();
  std::FILE* output = popen((command + " 2>&1 >/dev/null").c_str(), "r");
  std::string text;
  std::array<char, 4096> block{};
  while (const std::size_t got = fread(block.data(), 1, block.size(), output))
    text.append(block.data(), got);
  Ending ending;
  ending.exit_code = WEXITSTATUS(pclose(output));
  ending.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("rank ", 0) == 0) ending.lines.push_back(line);
  return ending;
}

}  // namespace skep
