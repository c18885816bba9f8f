#pragma once
// The commands of `bench`.
#include "tools/common/tool.h"

namespace skep {

void bench_step(const Arguments& arguments);    ///< seconds and share of the peak per preset
void bench_ops(const Arguments& arguments);     ///< every op beside the peak of its kind
void bench_peers(const Arguments& arguments);   ///< ratios to PyTorch
void bench_codecs(const Arguments& arguments);  ///< seconds and bytes an element

/// Collectives beside MPI's own. Takes part in a run of several ranks, where the others leave that
/// to rank 0. Returns the exit code; an error leaves on all ranks.
int bench_comm(int argc, char** argv);

}  // namespace skep
