#include "model/layers/embedding.h"

#include "engine/backends/transfer.h"
#include "engine/ops/ops.h"

namespace skep {

Embedding::Embedding(std::int64_t count, std::int64_t width, const Init& init)
    : weight_(parameter("weight", {count, width}, init)) {}

Tensor Embedding::forward(const Tensor& ids, const Pass&) {
  return embedding(weight_.value, to_device(ids, weight_.value.device()));
}

}  // namespace skep
