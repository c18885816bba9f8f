#pragma once
// While a NoGrad lives, ops on this thread are computed but not recorded; inside it, a WithGrad
// records again. The innermost one counts.
namespace skep {

class NoGrad {
 public:
  NoGrad() : outer_(active_) { active_ = true; }
  ~NoGrad() { active_ = outer_; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
  static bool active() { return active_; }

 private:
  friend class WithGrad;
  inline static thread_local bool active_ = false;
  bool outer_;
};

class WithGrad {
 public:
  WithGrad() : outer_(NoGrad::active_) { NoGrad::active_ = false; }
  ~WithGrad() { NoGrad::active_ = outer_; }
  WithGrad(const WithGrad&) = delete;
  WithGrad& operator=(const WithGrad&) = delete;

 private:
  bool outer_;
};

}  // namespace skep
