#pragma once
// Attention as cuDNN's fused kernels know it: a graph of products, softmax and mask of exactly the
// form that they look for (composite; Dao 2023, FlashAttention-2). Nothing of size T x S is stored
// in forward.
#include "engine/backends/backend.h"
#include "engine/backends/cuda/library/cudnn_graph.h"

namespace skep::cuda::cudnn {

/// Names of what the graphs read and write.
enum AttentionName : std::int64_t {
  query = 1,
  key,
  value,
  out,
  log_sum_exp,
  grad_out,
  grad_query,
  grad_key,
  grad_value,
  delta,  ///< (B, H, T) fp32, scratch: sum over D of out grad_out
  scale,
  minus_infinity,
  one,
  key_count,
  query_count,  ///< scalars
};

/// A (B, T, H, D) tensor seen as (B, H, T, D).
Layout head_layout(const Tensor& t);

/// What is wrong with a layout for cuDNN's vector loads, which need adjacent elements and rows that
/// begin at multiples of 16 bytes; empty when nothing is. cuDNN itself does not look: it accepts
/// such a graph, or crashes over it.
std::string layout_fault(const Layout& layout);

/// Shape, strides and types: all that a plan depends on. The scale is handed over with each run.
struct ForwardLayouts {
  Layout query, key, value, out;
  AttentionArgs::Causal causal = AttentionArgs::Causal::yes;
  auto operator<=>(const ForwardLayouts&) const = default;
};
struct BackwardLayouts {
  ForwardLayouts forward;
  Layout grad_out, grad_query, grad_key, grad_value;
  auto operator<=>(const BackwardLayouts&) const = default;
};

/// Both throw Error(bug) for layouts that do not fit together.
Graph forward_graph(const ForwardLayouts& layouts);
/// Without atomic additions: the gradient of the scores passes through cuDNN's workspace (B H T S
/// values of the narrow type) and each gradient is one product.
Graph backward_graph(const BackwardLayouts& layouts);

}  // namespace skep::cuda::cudnn
