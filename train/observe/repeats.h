#pragma once
// Warnings that come again and again: told the 1st, 10th, 100th … time and in the end, so that they
// neither drown the rest nor are forgotten.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace skep {

class Repeats {
 public:
  /// The line to tell for one more `text`, at `step`; empty when it should not be told now.
  std::string add(std::int64_t step, const std::string& text);
  /// Lines for what came again since it was last told.
  std::vector<std::string> untold() const;

 private:
  struct Count {
    std::int64_t times = 0, told = 0, last_step = 0;
  };
  std::vector<std::pair<std::string, Count>> seen_;  // few: each is one place in the code
};

}  // namespace skep
