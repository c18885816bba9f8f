#pragma once
// Rows of a table by id.
#include "model/module.h"

namespace skep {

class Embedding final : public Module {
 public:
  Embedding(std::int64_t count, std::int64_t width, const Init& init);

  const Tensor& weight() const { return weight_; }

 protected:
  Tensor forward(const Tensor& ids, const Pass& pass) override;  // (..) int32 -> (.., C)

 private:
  const Tensor& weight_;
};

}  // namespace skep
