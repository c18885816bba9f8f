#pragma once
// Where kernels run, for the files that nvcc compiles: all that launch() needs from the runtime.
#include <cuda_runtime_api.h>

namespace skep {

/// The compute stream of the GPU that this thread works with.
cudaStream_t compute_stream();

/// Throws Error when the kernel just launched could not be, or an earlier one failed on the GPU.
void check_launch();

}  // namespace skep
