#pragma once
// Attention by kernels of our own: any type, head size, mask and strides, where the vendor's
// library takes fewer. A warp has one row of the result; scores pass through registers, 32 at a
// time, with the softmax kept up on the way (online softmax, Milakov & Gimelshein 2018), and
// nothing of size T x S is stored. Sums are made in one fixed order: results repeat bit for bit.
#include "engine/backends/backend.h"

namespace skep::cuda {

/// As Backend::attention_forward and _backward.
void attention_forward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp);
void attention_backward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp,
                        const Tensor& grad_out, const Tensor& grad_query, const Tensor& grad_key,
                        const Tensor& grad_value);

}  // namespace skep::cuda
