// y = softmax(scale Q Kᵀ) V per head (Vaswani et al. 2017), on views of any stride in B, T and H.
// The work is the backend's; the op keeps Q, K, V, y and each row's log-sum-exp for backward.
#include <cmath>

#include "engine/backends/backend.h"
#include "engine/kernels/copy.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

Shape attention_shape(const Shape& q, const Shape& k, const Shape& v, const Shape& mask,
                      const AttentionOptions&) {
  check(q.rank() == 4 && k.rank() == 4 && v.rank() == 4,
        "attention: query {}, key {}, value {} must be (B, T, H, D)", q, k, v);
  check(q[0] == k[0] && k[0] == v[0] && k[1] == v[1] && k[2] == v[2] && q[3] == k[3],
        "attention: query {}, key {} and value {} do not fit together", q, k, v);
  check(k[2] > 0 && q[2] % k[2] == 0, "attention: {} query heads do not share {} key heads evenly",
        q[2], k[2]);
  check(k[1] >= q[1], "attention: {} queries against {} keys: the keys include the queries' own",
        q[1], k[1]);
  check(mask.rank() == 0 || mask == Shape{q[1], k[1]}, "attention: mask {} must be ({}, {})", mask,
        q[1], k[1]);
  return {q[0], q[1], q[2], v[3]};
}

Tensor dense_heads(const Tensor& t) {
  return t.strides()[3] == 1 || t.size(3) == 1 ? t : contiguous(t);
}

struct Attention final : Node {
  AttentionOptions options;
  Saved query, key, value, mask, out, log_sum_exp;
  explicit Attention(const AttentionOptions& o) : options(o) {}

  AttentionArgs args(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& m) const {
    const double scale =
        options.scale > 0 ? options.scale : 1.0 / std::sqrt(static_cast<double>(q.size(3)));
    const bool causal = options.causal == AttentionOptions::Causal::yes;
    return {q, k, v, m, scale, causal ? AttentionArgs::Causal::yes : AttentionArgs::Causal::no};
  }
  Tensor forward(const Tensor& q_in, const Tensor& k_in, const Tensor& v_in,
                 const Tensor& mask_in) {
    const Shape shape =
        attention_shape(q_in.shape(), k_in.shape(), v_in.shape(), mask_in.shape(), options);
    const Tensor q = dense_heads(q_in), k = dense_heads(k_in), v = dense_heads(v_in);
    Tensor y = empty(shape, q.dtype(), q.device());
    const Tensor lse =
        empty({q.size(0), q.size(2), q.size(1)}, compute_type(q.dtype()), q.device());
    if (y.numel() > 0) backend(q.device()).attention_forward(args(q, k, v, mask_in), y, lse);
    query = q, key = k, value = v, mask = mask_in, out = y, log_sum_exp = lse;
    return y;
  }
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    const Tensor gy = contiguous(grads[0]);
    const Tensor &q = query.get(), &k = key.get(), &v = value.get();
    const Tensor gq = empty_like(q), gk = empty_like(k), gv = empty_like(v);
    if (gy.numel() > 0) {
      backend(q.device())
          .attention_backward(args(q, k, v, mask.get()), out.get(), log_sum_exp.get(), gy, gq, gk,
                              gv);
    } else {  // keys without queries
      for (const Tensor& grad : {gq, gk, gv}) fill(grad, 0);
    }
    sink.give(0, gq);
    sink.give(1, gk);
    sink.give(2, gv);
  }
};

const OpEntry entry("attention", "y = softmax(scale Q K^T) V", &attention, attention_shape,
                    {normal({2, 5, 2, 4}), normal({2, 5, 2, 4}), normal({2, 5, 2, 4}), absent(),
                     AttentionOptions{}},
                    {{normal({1, 3, 4, 2}), normal({1, 7, 2, 2}), normal({1, 7, 2, 3}), absent(),
                      AttentionOptions{}},
                     {normal({1, 4, 1, 3}), normal({1, 4, 1, 3}), normal({1, 4, 1, 3}),
                      zero_one({4, 4}), AttentionOptions{AttentionOptions::Causal::no, 0.7}}});

}  // namespace

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 const AttentionOptions& options) {
  return apply(entry, Attention{options}, query, key, value, mask);
}

}  // namespace skep
