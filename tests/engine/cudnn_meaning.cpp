// The graphs for cuDNN, interpreted in double, against the CPU's attention, which is itself checked
// against plain loops: results, log-sum-exp and gradients, through the strides that cuDNN is told.
#include <catch2/catch.hpp>

#include <limits>

#include "tests/engine/cudnn_cases.h"
#include "tests/engine/cudnn_interpreter.h"

namespace skep::testing {
namespace {

using namespace cuda::cudnn;
using Causal = AttentionArgs::Causal;

struct Outcome {
  Tensor out, log_sum_exp;
  AttentionArgs grads;  // of query, key and value
};

struct Problem {
  AttentionSizes sizes;
  Packing packing;
  AttentionArgs args;
  Tensor grad_out;

  Problem(const AttentionSizes& n, Causal causal, Packing packing_)
      : sizes(n),
        packing(packing_),
        args(attention_args(n, DType::f64, causal, packing)),
        grad_out(random_tensor({n.batch, n.queries, n.heads, n.value_width}, DType::f64, 4)) {
    args.scale = 0.3;
    std::uint64_t seed = 0;
    for (const Tensor& t : {args.query, args.key, args.value})
      copy(t, random_tensor(t.shape(), DType::f64, ++seed));
  }
  Outcome room() const {
    return {empty_like(grad_out), empty({sizes.batch, sizes.heads, sizes.queries}, DType::f64),
            attention_args(sizes, DType::f64, args.causal, packing)};
  }
};

Outcome on_cpu(const Problem& p) {
  Outcome y = p.room();
  Backend& cpu = backend(Device{});
  cpu.attention_forward(p.args, y.out, y.log_sum_exp);
  cpu.attention_backward(p.args, y.out, y.log_sum_exp, p.grad_out, y.grads.query, y.grads.key,
                         y.grads.value);
  return y;
}

Outcome interpreted(const Problem& p) {
  Outcome y = p.room();
  const Tensor deltas = empty_like(y.log_sum_exp);
  double factor = p.args.scale, unit = 1, lowest = std::numeric_limits<float>::lowest();
  double keys = static_cast<double>(p.sizes.keys), queries = static_cast<double>(p.sizes.queries);
  const auto run = [&](const Graph& graph) {
    CudnnInterpreter machine;
    const std::pair<std::int64_t, Tensor> tensors[] = {
        {query, p.args.query},        {key, p.args.key},
        {value, p.args.value},        {out, y.out},
        {log_sum_exp, y.log_sum_exp}, {grad_out, p.grad_out},
        {grad_query, y.grads.query},  {grad_key, y.grads.key},
        {grad_value, y.grads.value},  {delta, deltas}};
    for (const auto& [name, tensor] : tensors) machine.bind(name, tensor.data<double>());
    machine.bind(scale, &factor), machine.bind(one, &unit), machine.bind(minus_infinity, &lowest);
    machine.bind(key_count, &keys), machine.bind(query_count, &queries);
    machine.run(graph);
  };
  const BackwardLayouts layouts = layouts_of(p.args);
  run(forward_graph(layouts.forward));
  run(backward_graph(layouts));
  return y;
}

void check_meaning(const AttentionSizes& sizes, Causal causal, Packing packing) {
  const Problem p(sizes, causal, packing);
  const Outcome want = on_cpu(p), got = interpreted(p);
  INFO(text_of(p.args));
  CHECK(relative_error(got.out, want.out) < 1e-13);
  CHECK(relative_error(got.log_sum_exp, want.log_sum_exp) < 1e-13);
  CHECK(relative_error(got.grads.query, want.grads.query) < 1e-12);
  CHECK(relative_error(got.grads.key, want.grads.key) < 1e-12);
  CHECK(relative_error(got.grads.value, want.grads.value) < 1e-12);
}

TEST_CASE("the graphs mean attention and its gradients") {
  check_meaning({2, 3, 3, 7, 7, 8, 8}, Causal::yes, Packing::together);
  check_meaning({2, 3, 3, 7, 7, 8, 8}, Causal::no, Packing::together);
  check_meaning({2, 6, 2, 9, 9, 8, 16}, Causal::yes, Packing::together);
  check_meaning({1, 4, 2, 5, 11, 16, 8}, Causal::yes, Packing::apart);
  check_meaning({3, 4, 1, 5, 11, 16, 8}, Causal::no, Packing::apart);
  check_meaning({1, 1, 1, 2, 2, 8, 8}, Causal::yes, Packing::apart);
}

}  // namespace
}  // namespace skep::testing
