#pragma once
// What --doctor prints: one line a finding. FIX: runs will fail, hang or crawl; WARN: they work,
// but not as well as they could. Both carry a command that mends it.
#include <string>
#include <vector>

namespace skep::doctor {

enum class Verdict { ok, warn, fix };

struct Line {
  Verdict verdict;
  std::string topic;
  std::string finding;
  std::string remedy;  ///< empty for OK
};

using Lines = std::vector<Line>;

/// "FIX   memory: … -> command".
std::string to_string(const Line& line);

}  // namespace skep::doctor
