#pragma once
// What `generate` is told.
#include <optional>
#include <string>

#include "tools/common/command_line.h"
#include "tools/generate/continuation.h"

namespace skep {

struct GenerateOptions {
  enum class Print { text, ids };
  std::string model;
  std::optional<std::string> prompt, prompt_ids;  ///< exactly one
  std::int64_t tokens = 100;
  Sampling sampling;
  NextLogits::Cache cache = NextLogits::Cache::yes;
  Print print = Print::text;
  std::string help;  ///< not empty: print this and do nothing
};

/// Error(usage).
GenerateOptions parse_generate(const Arguments& arguments);

}  // namespace skep
