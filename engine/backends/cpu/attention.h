#pragma once
// Attention on the CPU, by panels of 64 queries: scores of a panel against all keys it may see
// (one product), softmax of whole rows, product with the values. Only the log-sum-exp of a row is
// kept; backward recomputes the scores. Memory is 64 x S instead of T x S, and the panel stays in
// the cache (after "FlashAttention", Dao et al. 2022, with whole rows instead of tiles of keys).
#include "engine/backends/backend.h"

namespace skep::cpu {

void attention_forward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp);
void attention_backward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp,
                        const Tensor& grad_out, const Tensor& grad_query, const Tensor& grad_key,
                        const Tensor& grad_value);

}  // namespace skep::cpu
