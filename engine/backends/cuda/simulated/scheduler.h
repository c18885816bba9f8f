#pragma once
// A GPU's way of running a kernel, on the host: block after block, each CUDA thread on a stack of
// its own, a warp's lanes going on together from one warp collective to the next. What depends on
// the order in which lanes and warps run shows when the order is shuffled; what no GPU could carry
// out (lanes at different collectives, a mask that is not the live lanes) is an error.
#include <cstdint>
#include <vector>

namespace skep::simulated {

constexpr int warp_size = 32;

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

/// One CUDA thread's place, for the thread that is running now.
struct Place {
  Index thread, block, block_size, grid_size;
};
Place& place();

/// The order of lanes and warps from now on: 0 counts up, every other seed shuffles.
void set_order_seed(unsigned seed);

/// Which kernel: its address, and how the compiler writes what it takes.
struct Kernel {
  const void* address = nullptr;
  const char* arguments = "";
};

/// Kernels run so far, by all host threads.
std::uint64_t kernels_run();
/// Each kernel that ran since the last call, once.
std::vector<Kernel> take_kernels_seen();
/// From now on this kernel leaves out its last block, as a wrong launch would; {} ends that.
void break_kernel(const Kernel& kernel);

/// Runs body(context) once for each thread of each block.
void run_grid(const Kernel& kernel, std::int64_t blocks, int threads, void (*body)(void*),
              void* context);

/// What lanes call: wait for the whole warp (every live lane named in `mask`, at the same
/// `operation`, giving `value`), then read what another lane gave.
enum class Collective { sync, shuffle_xor, shuffle, ballot };
class Given {
 public:
  Given(const std::uint64_t* lanes) : lanes_(lanes) {}
  std::uint64_t of(int lane) const { return lanes_[lane % warp_size]; }

 private:
  const std::uint64_t* lanes_;
};
Given meet(unsigned mask, Collective operation, std::uint64_t value);
int lane();

/// What threads call: wait for the whole block.
void meet_block();

}  // namespace skep::simulated
