#pragma once
// Devices and attention arguments that the tests of cuDNN's graphs share.
#include <fstream>
#include <sstream>
#include <string>

#include "engine/backends/cuda/library/cudnn_attention.h"
#include "tests/engine/helpers.h"

namespace skep::testing {

struct GpuDevice {
  const char* name;
  int capability;
  std::int64_t widest_head;  // that backward takes
};
inline constexpr GpuDevice gpu_devices[] = {
    {"sm_80", 80, 128}, {"sm_90", 90, 256}, {"sm_100", 100, 128}};

inline std::string properties_of(const GpuDevice& device) {
  const std::string path =
      fmt::format("{}/tests/engine/gpu_devices/{}.json", SKEP_SOURCE_DIR, device.name);
  std::ifstream file(path);
  check(file.good(), "{} cannot be read", path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct AttentionSizes {
  std::int64_t batch = 2, heads = 4, key_heads = 4, queries = 64, keys = 64, width = 64,
               value_width = 64;
};

enum class Packing { apart, together };

/// Query, key and value side by side in one (B, T, ...) tensor, as one product makes them; or
/// apart.
inline AttentionArgs attention_args(const AttentionSizes& n, DType dtype,
                                    AttentionArgs::Causal causal, Packing packing) {
  AttentionArgs args;
  args.causal = causal;
  if (packing == Packing::apart) {
    args.query = empty({n.batch, n.queries, n.heads, n.width}, dtype);
    args.key = empty({n.batch, n.keys, n.key_heads, n.width}, dtype);
    args.value = empty({n.batch, n.keys, n.key_heads, n.value_width}, dtype);
    return args;
  }
  check(n.queries == n.keys, "packed query and key are equally many");
  const std::int64_t q = n.heads * n.width, k = n.key_heads * n.width,
                     v = n.key_heads * n.value_width;
  const Tensor packed = empty({n.batch, n.queries, q + k + v}, dtype);
  const auto part = [&](std::int64_t begin, std::int64_t length, std::int64_t width) {
    return packed.sliced(2, begin, length).reshaped({n.batch, n.queries, length / width, width});
  };
  args.query = part(0, q, n.width);
  args.key = part(q, k, n.width);
  args.value = part(q + k, v, n.value_width);
  return args;
}

/// The result without gaps, gradients laid out as what they are the gradients of.
inline cuda::cudnn::BackwardLayouts layouts_of(const AttentionArgs& args) {
  using cuda::cudnn::head_layout;
  const Shape& q = args.query.shape();
  const Tensor out = empty({q[0], q[1], q[2], args.value.size(3)}, args.query.dtype());
  const cuda::cudnn::ForwardLayouts f{head_layout(args.query), head_layout(args.key),
                                      head_layout(args.value), head_layout(out), args.causal};
  return {f, f.out, f.query, f.key, f.value};
}

inline std::string text_of(const AttentionArgs& args) {
  return fmt::format("{} query {}, key {}, value {}{}", name_of(args.query.dtype()),
                     args.query.shape(), args.key.shape(), args.value.shape(),
                     args.causal == AttentionArgs::Causal::yes ? ", causal" : "");
}

}  // namespace skep::testing
