#include "engine/backends/cuda/simulated/streams.h"

#include <algorithm>

#include "engine/core/error.h"

namespace skep::simulated {
namespace {

// Of this thread: pieces of work on the compute stream, and how many of them the copy stream waits
// for.
thread_local std::int64_t asked = 0, awaited = 0;

}  // namespace

class Streams::StreamEvent final : public cuda::Event {
 public:
  explicit StreamEvent(Streams& streams) : streams_(streams) {}
  void record(cuda::StreamId stream) override {
    stream_ = stream;
    count_ = stream == cuda::StreamId::copy ? streams_.added() : asked;
  }
  bool done() override {
    return stream_ == cuda::StreamId::compute || streams_.step_towards(count_);
  }
  void hold_back(cuda::StreamId stream) override {
    if (stream == stream_) return;
    if (stream == cuda::StreamId::copy) {
      awaited = std::max(awaited, count_);
    } else {
      streams_.run_until(count_);
    }
  }

 private:
  Streams& streams_;
  cuda::StreamId stream_ = cuda::StreamId::compute;
  std::int64_t count_ = 0;
};

void Streams::computed() { ++asked; }

void Streams::add_copy(std::function<void()> work) {
  if (awaited != asked)
    fail(ErrorKind::bug, "simulated GPU: the copy stream does not wait for what was computed");
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
}

std::int64_t Streams::added() {
  const std::lock_guard lock(mutex_);
  return done_ + std::ssize(waiting_);
}

void Streams::run_until(std::int64_t count) {
  while (!step_towards(count)) {
  }
}

bool Streams::step_towards(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  if (done_ >= count) return true;
  waiting_.front()();
  waiting_.pop_front();
  return ++done_ >= count;
}

std::unique_ptr<cuda::Event> Streams::make_event() { return std::make_unique<StreamEvent>(*this); }

Streams& streams() {
  static auto* const instance = new Streams;
  return *instance;
}

}  // namespace skep::simulated
