#pragma once
// The commands of `inspect`.
#include "tools/common/tool.h"

namespace skep {

void inspect_gradcheck(const Arguments& arguments);  ///< every op's gradient against differences
void inspect_gpu(const Arguments& arguments);        ///< every op there against the CPU
void inspect_comm(const Arguments& arguments);       ///< who sends what to whom
void inspect_shapes(const Arguments& arguments);     ///< what each module gives and holds
void inspect_graph(const Arguments& arguments);      ///< every op of one training step
void inspect_flight(const Arguments& arguments);     ///< where the ranks' collectives differ

}  // namespace skep
