#pragma once
// Dropout as a module, so that its path gives each place in the model masks of its own.
#include "model/module.h"

namespace skep {

class Dropout final : public Module {
 public:
  explicit Dropout(double probability) : probability_(probability) {}

 protected:
  /// (B, ..) -> (B, ..). The mask of a sample depends on its global index, not on ranks or batches.
  Tensor forward(const Tensor& x, const Pass& pass) override;

 private:
  double probability_;
};

}  // namespace skep
