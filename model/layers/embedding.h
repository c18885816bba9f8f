#pragma once
// Rows of a table by id, in the masters' type: the residual stream begins here.
#include "model/module.h"

namespace skep {

class Embedding final : public Module {
 public:
  Embedding(std::int64_t count, std::int64_t width, const Init& init);

  /// As a head reads it: in the type products compute in.
  const Tensor& weight() const { return weight_.compute; }

 protected:
  Tensor forward(const Tensor& ids, const Pass& pass) override;  // (..) int32 -> (.., C)

 private:
  const Parameter& weight_;
};

}  // namespace skep
