#pragma once
// The simulated GPU's streams. The compute stream does what it is asked at once; the copy stream as
// late as it may: its work waits until somebody asks for it, and one question brings it only one
// piece further. What was to be copied shows NaN on the host until then, so that a host that does
// not wait reads NaN, and a kernel that does not, what was there before. Copies that do not wait
// for the compute stream's work so far are an error.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "engine/backends/cuda/runtime.h"

namespace skep::simulated {

class Streams {
 public:
  /// Work of the calling thread's kernels, products and blocking copies, on the compute stream.
  void computed();
  /// The host waits for the compute stream.
  void wait_for_computing() { ++host_waits_; }
  /// How often it did.
  std::int64_t host_waits() const { return host_waits_; }
  /// Work on the copy stream, for later. Throws Error(bug) unless the calling thread has let it
  /// wait for all that it has computed.
  void add_copy(std::function<void()> work);
  /// All of the copy stream.
  void finish_copies() { run_until(added()); }

  std::unique_ptr<cuda::Event> make_event();

 private:
  class StreamEvent;
  std::int64_t added();
  /// Everything that was added before the first `count` pieces.
  void run_until(std::int64_t count);
  /// One piece more, unless `count` are done; are they?
  bool step_towards(std::int64_t count);

  std::mutex mutex_;  // threads play ranks in tests
  std::deque<std::function<void()>> waiting_;
  std::int64_t done_ = 0;  // pieces of the copy stream
  std::atomic<std::int64_t> host_waits_{0};
};

Streams& streams();

}  // namespace skep::simulated
