#pragma once
// What `evaluate` is told.
#include <string>

#include "tools/common/command_line.h"

namespace skep {

struct EvaluateOptions {
  std::string model, data;
  std::int64_t context = 0;  ///< 0: the model's
  std::int64_t batch = 8;    ///< windows at a time
  std::int64_t threads = 0;  ///< of this rank; 0: its share of the processors
  std::string help;          ///< not empty: print this and do nothing
};

/// Error(usage).
EvaluateOptions parse_evaluate(const Arguments& arguments);

}  // namespace skep
