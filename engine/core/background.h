#pragma once
// Work that goes on beside a long computation on the same thread, such as messages that only move
// when somebody looks after them. Whoever computes calls poll() between its parts; whoever has such
// work keeps a Background alive meanwhile.
#include <functional>
#include <utility>

namespace skep {

class Background {
 public:
  /// `work` runs on this thread at every poll() until the object goes; the innermost one, when they
  /// nest. It must not compute with tensors.
  explicit Background(std::function<void()> work)
      : work_(std::move(work)), outer_(std::exchange(current_, this)) {}
  ~Background() { current_ = outer_; }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  static void poll() {
    if (current_) current_->work_();
  }

 private:
  inline static thread_local Background* current_ = nullptr;
  std::function<void()> work_;
  Background* outer_;
};

}  // namespace skep
