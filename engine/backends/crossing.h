#pragma once
// A copy between a device's memory and the host's that is under way beside other work.
namespace skep {

class Crossing {
 public:
  virtual ~Crossing() = default;
  /// True when the copy is made. Never blocks.
  virtual bool done() = 0;
  virtual void wait() = 0;
};

/// One that took place at once.
class FinishedCrossing final : public Crossing {
 public:
  bool done() override { return true; }
  void wait() override {}
};

}  // namespace skep
