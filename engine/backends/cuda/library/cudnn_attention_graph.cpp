#include "engine/backends/cuda/library/cudnn_attention_graph.h"

#include <fmt/ranges.h>

namespace skep::cuda::cudnn {
namespace {

using Value = Graph::Value;

// (B, H, T, 1) fp32 without gaps.
Layout row_layout(const Layout& query) {
  const Sizes sizes{query.sizes[0], query.sizes[1], query.sizes[2], 1};
  return {sizes, packed_strides(sizes), DType::f32};
}

// Scores of invisible keys become -infinity: query i sees keys up to i + S - T. Written for T = S
// and for the general case as cuDNN expects it: it recognises masks by their form.
Value masked(Graph& g, const Value& scores, AttentionArgs::Causal causal) {
  if (causal == AttentionArgs::Causal::no) return scores;
  Value row = g.index(scores, 2);
  const Value column = g.index(scores, 3);
  if (scores.sizes[2] != scores.sizes[3]) {
    const auto shifted = [&](cudnnPointwiseMode_t mode, std::int64_t by) {
      const Value y = g.virtual_value(scores.sizes, CUDNN_DATA_INT32);
      g.pointwise(mode, row, g.scalar(by, CUDNN_DATA_INT32), y, CUDNN_DATA_INT32);
      row = y;
    };
    shifted(CUDNN_POINTWISE_ADD, key_count);
    shifted(CUDNN_POINTWISE_SUB, query_count);
  }
  const Value visible = g.virtual_value(scores.sizes, CUDNN_DATA_BOOLEAN);
  g.pointwise(CUDNN_POINTWISE_CMP_GE, row, column, visible, CUDNN_DATA_BOOLEAN);
  return g.select(visible, scores, g.scalar(minus_infinity, CUDNN_DATA_FLOAT));
}

// (B, H, T, S) as (B, H, S, T), in the narrow type that products take.
Value transposed(Graph& g, const Value& x, DType dtype) {
  const Layout layout{x.sizes, packed_strides(x.sizes), dtype};
  const Value y = g.virtual_value(layout.transposed());
  g.reshape(x, y);
  return y;
}

// c = a b, or the sum of it over the heads that share one in c.
void grouped_product(Graph& g, const Value& a, const Value& b, const Value& c, DType dtype) {
  if (a.sizes[1] == c.sizes[1]) return g.matmul(a, b, c);
  const Sizes sizes{c.sizes[0], a.sizes[1], c.sizes[2], c.sizes[3]};
  const Value each = g.virtual_value(sizes, data_type(dtype));
  g.matmul(a, b, each);
  g.reduce(CUDNN_REDUCE_TENSOR_ADD, each, c);
}

void check_operand(const Layout& layout, const Sizes& sizes, DType dtype, std::string_view name) {
  const auto text = [](const Sizes& n) { return fmt::format("{}", fmt::join(n, ", ")); };
  check(layout.sizes == sizes, "attention: {} is ({}) and should be ({}) in (B, H, T, D)", name,
        text(layout.sizes), text(sizes));
  check(layout.dtype == dtype, "attention: {} is {}, query {}", name, name_of(layout.dtype),
        name_of(dtype));
  const std::string fault = layout_fault(layout);
  check(fault.empty(), "attention: {} {}", name, fault);
}

void check_layouts(const ForwardLayouts& in) {
  const auto [batch, heads, queries, width] = in.query.sizes;
  const std::int64_t key_heads = in.key.sizes[1], keys = in.key.sizes[2];
  const std::int64_t value_width = in.value.sizes[3];
  check(key_heads > 0 && heads % key_heads == 0 && keys >= queries,
        "attention: {} heads and {} queries do not go with {} key heads and {} keys", heads,
        queries, key_heads, keys);
  const DType dtype = in.query.dtype;
  check_operand(in.query, in.query.sizes, dtype, "query");
  check_operand(in.key, {batch, key_heads, keys, width}, dtype, "key");
  check_operand(in.value, {batch, key_heads, keys, value_width}, dtype, "value");
  check_operand(in.out, {batch, heads, queries, value_width}, dtype, "result");
}

void check_layouts(const BackwardLayouts& in) {
  check_layouts(in.forward);
  const ForwardLayouts& f = in.forward;
  const DType dtype = f.query.dtype;
  check_operand(in.grad_out, f.out.sizes, dtype, "the result's gradient");
  // A wider type here would make cuDNN add the parts of it up in any order.
  check_operand(in.grad_query, f.query.sizes, dtype, "the query's gradient");
  check_operand(in.grad_key, f.key.sizes, dtype, "the key's gradient");
  check_operand(in.grad_value, f.value.sizes, dtype, "the value's gradient");
}

}  // namespace

std::string layout_fault(const Layout& layout) {
  constexpr std::int64_t elements = 8;  // 16 bytes of a narrow type
  if (layout.strides[3] != 1)
    return fmt::format("has a stride of {} between elements, not 1", layout.strides[3]);
  for (std::size_t i = 0; i < 3; ++i)
    if (layout.strides[i] <= 0 || layout.strides[i] % elements != 0)
      return fmt::format("has a stride of {}, not a positive multiple of {}", layout.strides[i],
                         elements);
  return {};
}

Layout head_layout(const Tensor& t) {
  check(t.rank() == 4, "attention: {} is not (B, T, H, D)", t.shape());
  const Strides& s = t.strides();
  Layout layout{{t.size(0), t.size(2), t.size(1), t.size(3)}, {s[0], s[2], s[1], s[3]}, t.dtype()};
  // The stride of a dimension of size 1 means nothing; cuDNN wants one that fits the others.
  const std::int64_t everything = packed_strides(layout.sizes)[0] * layout.sizes[0];
  for (std::size_t i = 0; i < 3; ++i)
    if (layout.sizes[i] == 1) layout.strides[i] = everything;
  if (layout.sizes[3] == 1) layout.strides[3] = 1;
  return layout;
}

Graph forward_graph(const ForwardLayouts& in) {
  check_layouts(in);
  Graph g;
  const Value q = g.tensor(query, in.query), kt = g.tensor(key, in.key.transposed()),
              v = g.tensor(value, in.value);
  const Value products = g.matmul(q, kt);
  const Value scores = masked(
      g, g.pointwise(CUDNN_POINTWISE_MUL, products, g.scalar(scale, CUDNN_DATA_FLOAT)), in.causal);
  const Value highest = g.reduce_rows(CUDNN_REDUCE_TENSOR_MAX, scores);
  const Value weights =
      g.pointwise(CUDNN_POINTWISE_EXP, g.pointwise(CUDNN_POINTWISE_SUB, scores, highest));
  const Value total = g.reduce_rows(CUDNN_REDUCE_TENSOR_ADD, weights);
  g.pointwise(CUDNN_POINTWISE_ADD, highest, g.pointwise(CUDNN_POINTWISE_LOG, total),
              g.tensor(log_sum_exp, row_layout(in.query)));
  const Value probabilities = g.virtual_value(weights.sizes, data_type(in.query.dtype));
  g.pointwise(CUDNN_POINTWISE_DIV, weights, total, probabilities);
  g.matmul(probabilities, v, g.tensor(out, in.out));
  return g;
}

Graph backward_graph(const BackwardLayouts& layouts) {
  check_layouts(layouts);
  const ForwardLayouts& in = layouts.forward;
  const DType dtype = in.query.dtype;
  Graph g;
  const Value q = g.tensor(query, in.query), kt = g.tensor(key, in.key.transposed()),
              vt = g.tensor(value, in.value.transposed());
  const Value y = g.tensor(out, in.out), gy = g.tensor(grad_out, layouts.grad_out);
  const Value lse = g.tensor(log_sum_exp, row_layout(in.query));
  const Value factor = g.scalar(scale, CUDNN_DATA_FLOAT);

  const Value row_sums =
      g.reduce_rows(CUDNN_REDUCE_TENSOR_ADD, g.pointwise(CUDNN_POINTWISE_MUL, gy, y));
  const Value deltas = g.tensor(delta, row_layout(in.query));
  g.pointwise(CUDNN_POINTWISE_MUL, row_sums, g.scalar(one, CUDNN_DATA_FLOAT), deltas);

  const Value scores = g.pointwise(CUDNN_POINTWISE_MUL, g.matmul(q, kt), factor);
  const Value p = g.pointwise(CUDNN_POINTWISE_EXP,
                              masked(g, g.pointwise(CUDNN_POINTWISE_SUB, scores, lse), in.causal));
  grouped_product(g, transposed(g, p, dtype), gy, g.tensor(grad_value, layouts.grad_value), dtype);

  const Value gp = g.pointwise(CUDNN_POINTWISE_SUB, g.matmul(gy, vt), deltas);
  const Value gs =
      g.pointwise(CUDNN_POINTWISE_MUL, g.pointwise(CUDNN_POINTWISE_MUL, gp, p), factor);
  grouped_product(g, transposed(g, gs, dtype), q, g.tensor(grad_key, layouts.grad_key), dtype);
  const Value k = g.virtual_value(in.key);
  g.reshape(kt, k);
  g.matmul(gs, k, g.tensor(grad_query, layouts.grad_query));
  return g;
}

}  // namespace skep::cuda::cudnn
