#pragma once
// A stack that can be left and come back to: what a CUDA thread needs to wait for its warp.
#include <cstddef>
#include <functional>

namespace skep::simulated {

class Fiber {
 public:
  /// `work` runs on the new stack, from its beginning, at each resume() that does not continue a
  /// suspended one.
  explicit Fiber(std::function<void(Fiber&)> work);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// From outside: runs until the work ends or suspends.
  void resume();
  /// From the work: back to who resumed.
  void suspend();

 private:
  static void begin();

  std::function<void(Fiber&)> work_;
  std::byte* stack_ = nullptr;
  void* inside_ = nullptr;   // stack pointer of the fiber while it is not running
  void* outside_ = nullptr;  // of who resumed it
  void* thread_ = nullptr;   // for ThreadSanitizer
  void* resumer_ = nullptr;
  // What AddressSanitizer wants to know about both stacks.
  void* fake_stack_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_size_ = 0;
};

}  // namespace skep::simulated
