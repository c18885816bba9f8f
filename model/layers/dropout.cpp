#include "model/layers/dropout.h"

#include "engine/core/random.h"
#include "engine/ops/ops.h"

namespace skep {

Tensor Dropout::forward(const Tensor& x, const Pass& pass) {
  if (pass.mode == Pass::Mode::evaluate || probability_ == 0) return x;
  const auto per_sample = static_cast<std::uint64_t>(x.numel() / x.size(0));
  return dropout(x, probability_, derive_key(pass.dropout_key, path()),
                 pass.first_sample * per_sample);
}

}  // namespace skep
