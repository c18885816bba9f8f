#pragma once
// The catalogue of ops. Each is one file of its own name: forward, gradient, shape rule and table
// entry. Shapes: B batch, T tokens, C channels (width), H heads, D head size, V vocabulary.
// Floating arguments of one op share one type; wrong shapes throw skep::Error.
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/tensor.h"

namespace skep {

// Elementwise, with NumPy broadcasting.
Tensor add(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor scale(const Tensor& x, double factor);
Tensor exp(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor gelu(const Tensor& x);  ///< tanh form, as GPT-2 has it
Tensor cast(const Tensor& x, DType dtype);

/// Zeroes each element with `probability` and scales the rest by 1/(1-probability). The mask is a
/// function of (key, first_index + element index): give the same key and each sample's global
/// position, and it does not depend on ranks or batch split.
Tensor dropout(const Tensor& x, double probability, std::uint64_t key, std::uint64_t first_index);

// Products.
Tensor matmul(const Tensor& a,
              const Tensor& b);  ///< (.., M, K) (.., K, N) -> (.., M, N), batch broadcast
/// x Wᵀ + bias: (.., I), (O, I), (O) or undefined -> (.., O).
///
/// Mixed precision: x and weight are bf16 or fp16, bias is fp32, and `result` names the type of y
/// (x's own when absent).
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              std::optional<DType> result = {});

// Rows: the last dimension.
Tensor softmax(const Tensor& x);
/// (x - mean) / sqrt(variance + eps) * gain + bias over (.., C); bias may be undefined.
/// Mixed precision: x, gain and bias are fp32, and `result` names the narrow type of y.
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps,
                  std::optional<DType> result = {});
/// {s = x + branch, layer_norm(s)} in one pass over memory; x and branch (.., C) share one type.
std::vector<Tensor> residual_norm(const Tensor& x, const Tensor& branch, const Tensor& gain,
                                  const Tensor& bias, double eps, std::optional<DType> result = {});

// Reductions.
Tensor sum(const Tensor& x);               ///< of all elements -> ()
Tensor sum_dim(const Tensor& x, int dim);  ///< removes the dimension
Tensor mean(const Tensor& x);
Tensor mean_dim(const Tensor& x, int dim);

// Layout: results are views where strides allow.
Tensor reshape(const Tensor& x, const Shape& shape);  ///< copies when no view has this shape
Tensor transpose(const Tensor& x, int a, int b);
Tensor slice(const Tensor& x, int dim, std::int64_t begin, std::int64_t length);
std::vector<Tensor> split(const Tensor& x, int dim, std::int64_t parts);  ///< equal parts

// Transformers.
/// Rows of table (V, C) at ids (..) int32 -> (.., C); an id outside [0, V) throws with its
/// position.
Tensor embedding(const Tensor& table, const Tensor& ids);

struct AttentionOptions {
  enum class Causal { no, yes } causal = Causal::yes;
  double scale = 0;  ///< 0: 1 / sqrt(D)
};
/// softmax(scale Q Kᵀ) V over (B, T, H, D), (B, S, K, D), (B, S, K, Dv) -> (B, T, H, Dv). Causal:
/// query i sees keys up to i + S - T. mask (T, S) int32, 1 = may look, or undefined; a row that may
/// look nowhere gives 0. Query head h reads key head h / (H / K).
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 const AttentionOptions& options);
/// Causal self-attention on one packed tensor (B, T, 3·H·D), laid out [query | key | value], -> (B,
/// T, H·D).
Tensor packed_attention(const Tensor& qkv, std::int64_t heads);

/// Sum of -log softmax(logits)[target] over the rows of (.., V) with target >= 0; rows with target
/// -1 are ignored, whatever their logits hold. targets: int32 (..). The caller divides by the
/// count. z_weight adds z_weight (log sum e^x)² a row: the z-loss, which keeps logits from
/// drifting.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, double z_weight = 0);

/// cross_entropy(x Wᵀ, targets, z_weight) over the first `classes` rows of weight (V, C), in
/// chunks: logits never exist all at once. x (.., C); later rows of weight are padding and get no
/// gradient.
Tensor head_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                          std::int64_t classes, double z_weight = 0);

/// Losses of one batch that are minimised together.
struct WeightedLosses {
  Tensor total;  ///< a scalar: the sums, each times its weight
  Tensor sums;   ///< (tasks), over the rows, without weights; takes no part in autograd
};
/// The same with both losses told apart: sums {cross-entropy, (log sum e^x)²}, weighted by
/// task_weights (2), which may want a gradient themselves.
WeightedLosses head_losses(const Tensor& x, const Tensor& weight, const Tensor& targets,
                           std::int64_t classes, const Tensor& task_weights);

}  // namespace skep
