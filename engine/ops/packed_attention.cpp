// Causal self-attention on the one product that makes query, key and value together: (B, T, 3HD) is
// looked at as three strided views, and the gradient is written through the same views, so that
// nothing is split, transposed or joined in memory.
#include <cmath>

#include "engine/backends/backend.h"
#include "engine/kernels/copy.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

Shape packed_shape(const Shape& qkv, std::int64_t heads) {
  check(qkv.rank() == 3 && heads > 0 && qkv[2] % (3 * heads) == 0,
        "packed_attention: {} is not (B, T, 3 x {} heads x D)", qkv, heads);
  return {qkv[0], qkv[1], qkv[2] / 3};
}

struct PackedAttention final : Node {
  std::int64_t heads;
  Saved qkv, out, log_sum_exp;
  explicit PackedAttention(std::int64_t h) : heads(h) {}

  // Part 0, 1, 2 of (B, T, 3HD) as (B, T, H, D).
  Tensor part(const Tensor& packed, int which) const {
    const std::int64_t width = packed.size(2) / 3;
    return packed.sliced(2, which * width, width)
        .reshaped({packed.size(0), packed.size(1), heads, width / heads});
  }
  AttentionArgs args(const Tensor& packed) const {
    const double width = static_cast<double>(packed.size(2)) / 3 / static_cast<double>(heads);
    return {part(packed, 0),        part(packed, 1),           part(packed, 2), {},
            1.0 / std::sqrt(width), AttentionArgs::Causal::yes};
  }
  Tensor as_heads(const Tensor& y) const {
    return y.reshaped({y.size(0), y.size(1), heads, y.size(2) / heads});
  }

  Tensor forward(const Tensor& in) {
    const Shape shape = packed_shape(in.shape(), heads);
    const Tensor packed = contiguous(in);
    Tensor y = empty(shape, in.dtype(), in.device());
    const Tensor lse = empty({shape[0], heads, shape[1]}, compute_type(in.dtype()), in.device());
    if (y.numel() > 0) backend(y.device()).attention_forward(args(packed), as_heads(y), lse);
    qkv = packed, out = y, log_sum_exp = lse;
    return y;
  }
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    const Tensor gy = contiguous(grads[0]), packed = qkv.get();
    const Tensor gqkv = empty(packed.shape(), packed.dtype(), packed.device());
    if (gy.numel() > 0)
      backend(gy.device())
          .attention_backward(args(packed), as_heads(out.get()), log_sum_exp.get(), as_heads(gy),
                              part(gqkv, 0), part(gqkv, 1), part(gqkv, 2));
    sink.give(0, gqkv);
  }
};

const OpEntry entry("packed_attention",
                    "y = softmax(Q K^T / sqrt(D)) V, causal, [Q | K | V] packed", &packed_attention,
                    packed_shape, {normal({2, 5, 12}), std::int64_t{2}},
                    {{normal({1, 67, 6}), std::int64_t{1}}});

}  // namespace

Tensor packed_attention(const Tensor& qkv, std::int64_t heads) {
  return apply(entry, PackedAttention{heads}, qkv);
}

}  // namespace skep
