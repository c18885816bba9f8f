// The simulated GPU finds what a GPU would only sometimes show: kernels planted with faults.
#include <barrier>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <thread>

#include "engine/backends/cuda/runtime.h"
#include "engine/backends/device_group.h"
#include "engine/kernels/gpu.h"
#include "tests/engine/gpu.h"

namespace skep::testing {
namespace {

__global__ void number_threads(std::int32_t* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] =
      static_cast<std::int32_t>(1000 * blockIdx.x + threadIdx.x);
}

__global__ void sum_of_lanes(float* out) {
  float x = static_cast<float>(threadIdx.x);
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  out[threadIdx.x] = x;
}

// Turns a block's numbers round, through memory: needs the barrier.
__global__ void reverse(float* data, float* room, bool with_barrier) {
  const unsigned i = threadIdx.x;
  room[i] = data[i];
  if (with_barrier) __syncthreads();
  data[i] = room[blockDim.x - 1 - i];
}

__global__ void diverge(float* out) {
  if (threadIdx.x < 16) {
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
  } else {
    __syncthreads();
  }
}

__global__ void wrong_mask(float* out) {
  if (threadIdx.x >= 20) return;
  out[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, 1.0f, 1);
}

__global__ void different_collectives(float* out) {
  if (threadIdx.x % 2 == 0) {
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
  } else {
    __syncwarp();
  }
}

__global__ void throws(float*) { fail(ErrorKind::data, "out of honey"); }

Tensor fill_on_gpu(double value) {
  const Tensor t = empty({100}, DType::f32, gpu);
  fill(t, value);
  return t;
}

Tensor room(std::int64_t n) { return empty({n}, DType::f32, gpu); }

TEST_CASE("simulated gpu: every thread of every block runs once, at its place") {
  const Tensor out = zeros({3 * 50}, DType::i32, gpu);
  launch(number_threads, 3, 50, out.data<std::int32_t>());
  const Values got = to_doubles(out);
  for (int i = 0; i < 150; ++i) CHECK(got[static_cast<std::size_t>(i)] == 1000 * (i / 50) + i % 50);
}

TEST_CASE("simulated gpu: lanes exchange values") {
  const Tensor out = room(64);
  launch(sum_of_lanes, 1, 64, out.data<float>());
  const Values got = to_doubles(out);
  CHECK(got[0] == 31 * 32 / 2);
  CHECK(got[63] == 31 * 32 / 2 + 32 * 32);
}

TEST_CASE("simulated gpu: a missing barrier shows, the right one serves in every order",
          "[not_under_tsan]") {
  Values numbers(96);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  const Values reversed(numbers.rbegin(), numbers.rend());
  int wrong_without = 0;
  for (const unsigned seed : {0u, 1u, 2u, 3u}) {
    simulated::set_order_seed(seed);
    for (const bool with_barrier : {true, false}) {
      const Tensor data = to_device(converted(tensor_of(numbers, {96}), DType::f32), gpu);
      const Tensor scratch = room(96);
      launch(reverse, 1, 96, data.data<float>(), scratch.data<float>(), with_barrier);
      const double error = relative_error(to_doubles(data), reversed);
      if (with_barrier) CHECK(error == 0);
      if (!with_barrier) wrong_without += error != 0;
    }
  }
  simulated::set_order_seed(0);
  CHECK(wrong_without == 4);
}

TEST_CASE("simulated gpu: what no warp could do is an error, and the next kernel runs") {
  const Tensor out = room(64);
  float* data = out.data<float>();
  CHECK(contains(error_of([&] { launch(diverge, 1, 32, data); }), "others for the block"));
  CHECK(contains(error_of([&] { launch(wrong_mask, 1, 32, data); }), "live lanes 000fffff"));
  CHECK(contains(error_of([&] { launch(different_collectives, 1, 32, data); }),
                 "different collectives"));
  CHECK(error_of([&] { launch(throws, 1, 32, data); }) == "out of honey");
  CHECK(contains(error_of([&] { launch(sum_of_lanes, 1, 2000, data); }), "cannot be launched"));
  launch(sum_of_lanes, 1, 32, data);
  CHECK(to_doubles(out)[0] == 31 * 32 / 2);
}

TEST_CASE("simulated gpu: a copy beside other work is made when it must be, and not before") {
  const Tensor there = fill_on_gpu(3), here = staging({100}, DType::f32, gpu);
  const auto brought = start_transfer(here, there);
  CHECK(std::isnan(to_doubles(here)[99]));
  brought->wait();
  CHECK(to_doubles(here) == Values(100, 3));

  fill(here, 5);
  const auto sent = start_transfer(there, here);
  CHECK(to_doubles(there) == Values(100, 5));  // later work on the GPU waits by itself
  CHECK(sent->done());

  CHECK(PendingValues(there.sliced(0, 2, 1).reshaped({})).value() == 5);
}

TEST_CASE("simulated gpu: streams that do not wait for each other are found") {
  cuda::Runtime& runtime = cuda::runtime(0);
  const Tensor there = fill_on_gpu(3), here = staging({100}, DType::f32, gpu);
  // A copy that may run before the numbers are there.
  CHECK(contains(
      error_of([&] { runtime.copy(here.raw(), there.raw(), here.bytes(), cuda::StreamId::copy); }),
      "the copy stream does not wait for what was computed"));
  // Work that does not wait for the copy before it.
  fill(here, 5);
  const auto computed = runtime.make_event(), sent = runtime.make_event();
  computed->record(cuda::StreamId::compute);
  computed->hold_back(cuda::StreamId::copy);
  runtime.copy(there.raw(), here.raw(), here.bytes(), cuda::StreamId::copy);
  sent->record(cuda::StreamId::copy);
  CHECK(to_doubles(there) == Values(100, 3));
  sent->hold_back(cuda::StreamId::compute);
  CHECK(to_doubles(there) == Values(100, 5));
}

TEST_CASE("simulated gpu: a group's sum is there for work that waits for it") {
  constexpr int ranks = 3;
  const DeviceGroupId id = make_group_id(gpu);
  std::barrier looked(ranks);
  std::vector<Values> early(ranks), late(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      const auto group = join_group(gpu, id, rank, ranks);
      const Tensor numbers = empty({40'001}, DType::f32, gpu);
      fill(numbers, 1 << rank);
      const auto sum = group->start_sum(numbers);
      early[static_cast<std::size_t>(rank)] = to_doubles(numbers);
      looked.arrive_and_wait();
      sum->hold_back();
      late[static_cast<std::size_t>(rank)] = to_doubles(numbers);
    });
  for (std::thread& thread : threads) thread.join();
  for (const Values& values : early) CHECK(std::isnan(values.back()));
  for (const Values& values : late) CHECK(values == Values(40'001, 7));
}

}  // namespace
}  // namespace skep::testing
