// Attention graphs for cuDNN, checked without a GPU: cuDNN's heuristics, told the properties of a
// device, offer ways to run the good ones and none for the broken ones.
#include <catch2/catch.hpp>

#include "engine/core/random.h"
#include "tests/engine/cudnn_cases.h"

namespace skep::testing {
namespace {

using namespace cuda::cudnn;
using Causal = AttentionArgs::Causal;

// What is accepted must have configurations: a plan is made only in the middle of a step.
void check_taken(const GpuDevice& device, const AttentionArgs& args) {
  INFO(device.name << ": " << text_of(args));
  CHECK(cuda::refusal_of_attention(args, device.capability) == "");
  const BackwardLayouts in = layouts_of(args);
  CHECK(count_configurations(forward_graph(in.forward), properties_of(device)) > 0);
  CHECK(count_configurations(backward_graph(in), properties_of(device)) > 0);
}

template <class Check>
void on_every_device(Check check_on) {
  for (const GpuDevice& device : gpu_devices) {
    INFO(device.name);
    check_on(properties_of(device));
  }
}

TEST_CASE("attention of usual shapes has configurations, forward and backward") {
  for (const GpuDevice& device : gpu_devices)
    for (DType dtype : {DType::bf16, DType::f16})
      for (std::int64_t width : {64, 128})
        for (std::int64_t tokens : {100, 1024}) {
          const AttentionSizes equal{2, 12, 12, tokens, tokens, width, width};
          const AttentionSizes grouped{2, 32, 8, tokens, tokens, width, width};
          for (const AttentionSizes& n : {equal, grouped})
            check_taken(device, attention_args(n, dtype, Causal::yes, Packing::together));
        }
}

TEST_CASE("attention of other shapes has configurations") {
  for (const GpuDevice& device : gpu_devices) {
    const auto taken = [&](const AttentionSizes& n, Causal causal) {
      check_taken(device, attention_args(n, DType::bf16, causal, Packing::apart));
    };
    taken({2, 4, 4, 70, 70, 64, 64}, Causal::no);
    taken({2, 4, 2, 70, 75, 64, 64}, Causal::yes);
    taken({2, 4, 2, 5, 130, 64, 64}, Causal::no);
    taken({1, 1, 1, 64, 64, 64, 64}, Causal::yes);
    taken({1, 6, 1, 33, 33, 40, 24}, Causal::yes);
    taken({2, 2, 2, 128, 128, device.widest_head, device.widest_head}, Causal::yes);
  }
}

TEST_CASE("arguments drawn at random are refused or have configurations") {
  constexpr std::uint64_t seed = 20;
  std::uint64_t draws = 0;
  const auto draw = [&](std::uint64_t end) {
    return static_cast<std::int64_t>(random_below(seed, draws++, end));
  };
  int taken = 0, refused = 0;
  for (int i = 0; i < 24; ++i) {
    AttentionSizes n;
    n.batch = 1 + draw(3), n.key_heads = 1 + draw(3), n.heads = n.key_heads * (1 + draw(4));
    n.queries = 1 + draw(200), n.keys = n.queries + draw(2) * draw(200);
    n.width = 4 + 4 * draw(40), n.value_width = draw(2) == 0 ? n.width : 8 + 8 * draw(16);
    const auto args = attention_args(n, draw(2) == 0 ? DType::bf16 : DType::f16,
                                     draw(3) == 0 ? Causal::no : Causal::yes, Packing::apart);
    const GpuDevice& device = gpu_devices[draw(3)];
    const bool taken_here = cuda::refusal_of_attention(args, device.capability).empty();
    if (taken_here) check_taken(device, args);
    ++(taken_here ? taken : refused);
  }
  CHECK(taken > 4);
  CHECK(refused > 4);
}

TEST_CASE("cuDNN offers nothing for types and widths that it has no kernels for") {
  on_every_device([](const std::string& properties) {
    const auto layouts = [](DType dtype) {
      return layouts_of(attention_args({}, dtype, Causal::yes, Packing::apart));
    };
    CHECK(count_configurations(forward_graph(layouts(DType::f64).forward), properties) == 0);
    CHECK(count_configurations(backward_graph(layouts(DType::f64)), properties) == 0);
    CHECK(count_configurations(backward_graph(layouts(DType::f32)), properties) == 0);
    // Rows of 36 elements that begin at multiples of 64: nothing is wrong but the width.
    BackwardLayouts odd = layouts(DType::bf16);
    for (cuda::cudnn::Layout* l :
         {&odd.forward.query, &odd.forward.key, &odd.forward.value, &odd.forward.out, &odd.grad_out,
          &odd.grad_query, &odd.grad_key, &odd.grad_value})
      l->sizes[3] = 36;
    CHECK(count_configurations(forward_graph(odd.forward), properties) == 0);
    CHECK(count_configurations(backward_graph(odd), properties) == 0);
  });
}

// The beginning of attention, to be ended wrongly.
struct Parts {
  ForwardLayouts in =
      layouts_of(attention_args({}, DType::bf16, Causal::yes, Packing::apart)).forward;
  Graph graph;
  Graph::Value q = graph.tensor(query, in.query), kt = graph.tensor(key, in.key.transposed()),
               v = graph.tensor(value, in.value), y = graph.tensor(out, in.out);

  Graph::Value weights(const Graph::Value& scores) {
    const Graph::Value highest = graph.reduce_rows(CUDNN_REDUCE_TENSOR_MAX, scores);
    return graph.pointwise(CUDNN_POINTWISE_EXP,
                           graph.pointwise(CUDNN_POINTWISE_SUB, scores, highest));
  }
};

TEST_CASE("cuDNN offers nothing for graphs with a part missing") {
  on_every_device([](const std::string& properties) {
    Parts no_sum;
    no_sum.graph.matmul(no_sum.weights(no_sum.graph.matmul(no_sum.q, no_sum.kt)), no_sum.v,
                        no_sum.y);
    CHECK(count_configurations(no_sum.graph, properties) == 0);
    Parts no_result;
    no_result.weights(no_result.graph.matmul(no_result.q, no_result.kt));
    CHECK(count_configurations(no_result.graph, properties) == 0);
  });
  CHECK_THROWS_AS(Graph().finished(nullptr), Error);  // no operations
  Parts no_key;
  no_key.kt.descriptor = nullptr;
  CHECK_THROWS_AS(no_key.graph.matmul(no_key.q, no_key.kt), Error);
}

TEST_CASE("cuDNN's own words reach the error about sizes that do not fit") {
  Parts p;
  p.in.key.sizes[3] = 128;
  const auto key_too_wide = p.graph.tensor(50, p.in.key.transposed());
  const std::string error = error_of([&] { p.graph.matmul(p.q, key_too_wide); });
  CHECK(contains(error, "matmul operation: CUDNN_STATUS_BAD_PARAM"));
  CHECK(contains(error, "getDimA"));
}

// cuDNN does not look at most of these: it offers configurations for them, or crashes.
TEST_CASE("layouts that cuDNN would read wrongly make no graph") {
  const BackwardLayouts good =
      layouts_of(attention_args({.key_heads = 2}, DType::bf16, Causal::yes, Packing::together));
  CHECK_NOTHROW(backward_graph(good));
  const auto broken = [&](auto spoil) {
    BackwardLayouts bad = good;
    spoil(bad);
    return error_of([&] { backward_graph(bad); });
  };
  using B = BackwardLayouts;
  CHECK(contains(broken([](B& l) { l.forward.query.strides[3] = 2; }), "between elements"));
  CHECK(contains(broken([](B& l) { l.forward.key = l.forward.key.transposed(); }),
                 "between elements"));
  CHECK(contains(broken([](B& l) { l.forward.value.strides[2] += 4; }), "multiple of 8"));
  CHECK(contains(broken([](B& l) { l.forward.out.strides[1] = 0; }), "multiple of 8"));
  CHECK(contains(broken([](B& l) { l.grad_key.strides[0] = -64; }), "multiple of 8"));
  CHECK(contains(broken([](B& l) { l.forward.key.dtype = DType::f16; }), "key is fp16"));
  CHECK(contains(broken([](B& l) { l.grad_query.dtype = DType::f32; }), "gradient is fp32"));
  CHECK(contains(broken([](B& l) { l.forward.value.sizes[2] = 32; }), "value is (2, 2, 32, 64)"));
  CHECK(contains(broken([](B& l) { l.forward.key.sizes[3] = 128; }), "key is (2, 2, 64, 128)"));
  CHECK(contains(broken([](B& l) { l.forward.key.sizes[1] = 3; }), "3 key heads"));
  CHECK(contains(broken([](B& l) { l.forward.query.sizes[2] = 65; }), "64 keys"));
  CHECK(contains(broken([](B& l) { l.forward.out.sizes[1] = 2; }), "result is (2, 2, 64, 64)"));
  CHECK(contains(broken([](B& l) { l.grad_value.sizes[1] = 1; }), "gradient is (2, 1, 64, 64)"));
}

// The query's gradient has parts from all blocks of keys. Either they are added atomically, in any
// order, in a buffer of fp32 as large as the query; or the scores' gradients are kept, and one
// product sums them.
TEST_CASE("every configuration of backward has room for the scores' gradients: sums in one order") {
  for (const GpuDevice& device : gpu_devices) {
    const AttentionSizes n{2, 12, 4, 512, 512, 64, 64};
    const Graph graph =
        backward_graph(layouts_of(attention_args(n, DType::bf16, Causal::yes, Packing::together)));
    const Descriptor properties = device_properties(properties_of(device));
    const Descriptor finished = graph.finished(nullptr);
    const auto found = configurations(finished, {.properties = &properties});
    INFO(device.name);
    CHECK(found.size() > 0);
    for (const Descriptor& configuration : found)
      CHECK(configuration.integer(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE) >=
            n.batch * n.heads * n.queries * n.keys * 2);
  }
}

}  // namespace
}  // namespace skep::testing
