#pragma once
// What this machine can do at best: the yardstick beside which a step's speed is told.
#include <string>

#include "engine/core/device.h"
#include "engine/core/dtype.h"

namespace skep {

/// Multiplications and additions a second of large products with inputs of this type, on the
/// threads the process is set to, or on a GPU. Takes a few tenths of a second.
double measure_peak_flops(DType inputs, Device device = {});

/// Bytes a second that a triad a = b + s c reads and writes on one thread, over three buffers far
/// larger than any cache. Takes about half a second.
double measure_memory_bandwidth();

/// "12.3 GFLOP/s in matrix products, 45 % of this machine's best": measures the best.
std::string describe_speed(double product_flops, double seconds, DType inputs);

}  // namespace skep
