// Kernels with one race each. Their numbers are right in the order in which the simulation runs
// lanes, so only ThreadSanitizer can tell: CMakeLists.txt runs each case by itself and wants its
// report. The same kernels without the fault give none.
#include <catch2/catch.hpp>

#include "engine/kernels/gpu.h"
#include "tests/engine/gpu.h"

namespace skep::testing {
namespace {

enum class Fault { none, planted };

// Lane 0 writes what the other lanes read.
__global__ void read_of_lane_0(float* data, Fault fault) {
  if (threadIdx.x == 0) data[0] = 1;
  if (fault == Fault::none) __syncwarp();
  data[1 + threadIdx.x] = data[0];
}

// A shuffle exchanges values; it does not order what lies in memory.
__global__ void shuffle_as_barrier(float* data, Fault fault) {
  if (threadIdx.x == 0) data[0] = 1;
  data[1 + threadIdx.x] = __shfl_sync(0xffffffffu, 1.0f, 0);
  if (fault == Fault::none) __syncwarp();
  data[1 + threadIdx.x] += data[0];
}

// After the meeting one lane is quicker than the others, who still read.
__global__ void write_after_meeting(float* data, Fault fault) {
  if (threadIdx.x == 0) data[0] = 1;
  __syncwarp();
  data[1 + threadIdx.x] = data[0];
  if (fault == Fault::none) __syncwarp();
  if (threadIdx.x == 31) data[0] = 2;
}

// Warps of a block meet at __syncthreads only.
__global__ void warps_meet(float* data, Fault fault) {
  if (threadIdx.x == 0) data[0] = 1;
  if (fault == Fault::none) {
    __syncthreads();
  } else {
    __syncwarp();
  }
  if (threadIdx.x == 63) data[1] = data[0];
}

// Blocks never meet.
__global__ void blocks_share(float* data, Fault fault) {
  const unsigned at = fault == Fault::none ? blockIdx.x : 0;
  if (threadIdx.x == 0) data[at] = 1;
}

using Kernel = void (*)(float*, Fault);

void run(Kernel kernel, int blocks, int threads, Fault fault) {
  const Tensor data = zeros({70}, DType::f32, gpu);
  launch(kernel, blocks, threads, data.data<float>(), fault);
  CHECK(to_doubles(data)[0] >= 1);
}

TEST_CASE("races: kernels without a fault") {
  for (const unsigned seed : {0u, 1u, 2u}) {
    simulated::set_order_seed(seed);
    run(read_of_lane_0, 1, 32, Fault::none);
    run(shuffle_as_barrier, 1, 32, Fault::none);
    run(write_after_meeting, 1, 32, Fault::none);
    run(warps_meet, 1, 64, Fault::none);
    run(blocks_share, 3, 32, Fault::none);
  }
  simulated::set_order_seed(0);
}

TEST_CASE("planted: lanes read without a meeting", "[.][planted]") {
  run(read_of_lane_0, 1, 32, Fault::planted);
}
TEST_CASE("planted: a shuffle in place of a meeting", "[.][planted]") {
  run(shuffle_as_barrier, 1, 32, Fault::planted);
}
TEST_CASE("planted: a write while others read", "[.][planted]") {
  run(write_after_meeting, 1, 32, Fault::planted);
}
TEST_CASE("planted: warps that do not meet", "[.][planted]") {
  run(warps_meet, 1, 64, Fault::planted);
}
TEST_CASE("planted: blocks that write one place", "[.][planted]") {
  run(blocks_share, 3, 32, Fault::planted);
}

}  // namespace
}  // namespace skep::testing
