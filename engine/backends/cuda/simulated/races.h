#pragma once
// What ThreadSanitizer is told, so that it sees a kernel as a GPU would run it: every lane a thread
// of its own, ordered with others only by what the CUDA language says: __syncwarp, __syncthreads,
// the start and the end of the kernel. A shuffle exchanges values and orders nothing else. Fibers
// and their scheduler are compiled without instrumentation (engine/CMakeLists.txt), as the hardware
// would be. It remembers few accesses of each place: a write that many lanes have read since may be
// forgotten. In other builds nothing of this does anything.
#ifdef SKEP_WATCH_RACES
#include <sanitizer/tsan_interface.h>

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace skep::simulated::races {

#ifdef SKEP_WATCH_RACES
constexpr bool watched = true;
inline void* make_thread() { return __tsan_create_fiber(0); }
inline void end_thread(void* thread) { __tsan_destroy_fiber(thread); }
inline void* this_thread() { return __tsan_get_current_fiber(); }
inline void go_on_as(void* thread) {
  __tsan_switch_to_fiber(thread, __tsan_switch_to_fiber_no_sync);
}
/// What happened before release(point) happened before what follows acquire(point).
inline void release(void* point) { __tsan_release(point); }
inline void acquire(void* point) { __tsan_acquire(point); }
/// While one lives, what this thread touches is nobody's business: for the scheduler, whose memory
/// is looked at where it calls the C library.
class Unwatched {
 public:
  Unwatched() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~Unwatched() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;
};
#else
constexpr bool watched = false;
inline void* make_thread() { return nullptr; }
inline void end_thread(void*) {}
inline void* this_thread() { return nullptr; }
inline void go_on_as(void*) {}
inline void release(void*) {}
inline void acquire(void*) {}
struct Unwatched {
  Unwatched() {}
};
#endif

}  // namespace skep::simulated::races
