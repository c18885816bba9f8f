#include "train/doctor/line.h"

#include <fmt/format.h>

namespace skep::doctor {

std::string to_string(const Line& line) {
  constexpr const char* names[] = {"OK", "WARN", "FIX"};
  return fmt::format("{:<5} {}: {}{}{}", names[static_cast<int>(line.verdict)], line.topic,
                     line.finding, line.remedy.empty() ? "" : " -> ", line.remedy);
}

}  // namespace skep::doctor
