#pragma once
// While a NoGrad lives, ops on this thread are computed but not recorded.
namespace skep {

class NoGrad {
 public:
  NoGrad() : outer_(active_) { active_ = true; }
  ~NoGrad() { active_ = outer_; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
  static bool active() { return active_; }

 private:
  inline static thread_local bool active_ = false;
  bool outer_;
};

}  // namespace skep
