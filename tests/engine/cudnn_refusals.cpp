// What is not given to cuDNN, and the reason that is told.
#include <catch2/catch.hpp>

#include "tests/engine/cudnn_cases.h"

namespace skep::testing {
namespace {

std::string refusal(const AttentionArgs& args, int capability = 90) {
  return cuda::refusal_of_attention(args, capability);
}
AttentionArgs with(const AttentionSizes& n, DType dtype = DType::bf16) {
  return attention_args(n, dtype, AttentionArgs::Causal::yes, Packing::apart);
}

TEST_CASE("devices, masks, types and counts that cuDNN does not take are refused by name") {
  CHECK(refusal(with({})) == "");
  CHECK(refusal(with({}, DType::f16)) == "");
  CHECK(contains(refusal(with({}), 75), "capability 7.5 is below 8.0"));
  CHECK(contains(refusal(with({}, DType::f32)), "fp32"));
  CHECK(contains(refusal(with({}, DType::f64)), "fp64"));
  AttentionArgs args = with({});
  args.mask = empty({64, 64}, DType::i32);
  CHECK(contains(refusal(args), "mask"));
  args = with({});
  args.value = empty(args.value.shape(), DType::f16);
  CHECK(contains(refusal(args), "differ in type"));
  CHECK(contains(refusal(with({.queries = 1, .keys = 37})), "one query"));
}

TEST_CASE("heads are multiples of 8 wide, up to what backward takes on the device") {
  CHECK(contains(refusal(with({.width = 60})), "60 wide"));
  CHECK(contains(refusal(with({.value_width = 12})), "12 wide"));
  for (const GpuDevice& device : gpu_devices) {
    INFO(device.name);
    CHECK(refusal(with({.width = device.widest_head}), device.capability) == "");
    CHECK(contains(refusal(with({.width = device.widest_head + 8}), device.capability), "wide"));
  }
}

TEST_CASE("rows that vector loads cannot reach are refused") {
  const Tensor wide = empty({2, 64, 4, 128}, DType::bf16);
  const Shape shape{2, 64, 4, 64};
  AttentionArgs args = with({});
  args.query = wide.with_layout(shape, {64 * 4 * 128, 4 * 128, 128, 2}, 0);
  CHECK(contains(refusal(args), "the query has a stride of 2 between elements"));
  args.query = wide.with_layout(shape, {64 * 4 * 128, 4 * 128, 68, 1}, 0);
  CHECK(contains(refusal(args), "the query has a stride of 68"));
  args = with({});
  args.key = wide.sliced(3, 4, 64);
  CHECK(contains(refusal(args), "the key does not begin at a multiple of 16 bytes"));
  args.key = wide.sliced(3, 8, 64);
  CHECK(refusal(args) == "");
  args.key = empty({2, 64, 1, 64}, DType::bf16).expanded(shape);
  CHECK(contains(refusal(args), "the key has a stride of 0"));
}

TEST_CASE("the stride of a dimension of size 1 is of no account") {
  AttentionArgs args = with({.batch = 1});
  args.query = args.query.with_layout(args.query.shape(), {3, 256, 64, 1}, 0);
  CHECK(refusal(args) == "");
}

}  // namespace
}  // namespace skep::testing
