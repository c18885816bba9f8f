#pragma once
// One forward pass, watched: a probe writes down each module call, the tape each op.
#include "tools/inspect/subject.h"

namespace skep {

struct ModuleCall {
  std::string path;  ///< empty for the model itself
  Shape out;
  std::int64_t parameters;  ///< at or below the module
};

struct Trace {
  std::vector<ModuleCall> calls;  ///< in the order they returned: a module follows its parts
  std::int64_t ops = 0;           ///< on the tape, the loss included
  std::string graph;              ///< the tape, one line an op
};

/// Sends the subject's batch through its model, as in training, up to the loss.
Trace trace_forward(Subject& subject);

}  // namespace skep
