#include "engine/ops/op_table.h"

#include <algorithm>

#include "engine/autograd/grad_slot.h"
#include "engine/core/random.h"
#include "engine/kernels/copy.h"

namespace skep {
namespace {

// A function, not a global: entries register while other globals are still being made.
std::vector<const OpEntry*>& entries() {
  static std::vector<const OpEntry*> list;
  return list;
}

Tensor make_input(const Input& input, DType dtype, std::uint64_t key) {
  if (input.kind == Input::Kind::absent) return {};
  const std::int64_t n = input.shape.numel();
  if (input.kind == Input::Kind::normal) {
    std::vector<double> values(n);
    for (std::int64_t i = 0; i < n; ++i) values[i] = random_normal(key, i);
    return with_grad(converted(tensor_of(values, input.shape), dtype));
  }
  std::vector<std::int32_t> values(n);
  for (std::int64_t i = 0; i < n; ++i)
    values[i] = static_cast<std::int32_t>(random_below(key, i, input.below));
  return tensor_of(values, input.shape);
}

}  // namespace

void OpEntry::enlist() { entries().push_back(this); }

std::vector<const OpEntry*> op_table() {
  auto table = entries();
  std::sort(table.begin(), table.end(), [](auto* a, auto* b) { return a->name() < b->name(); });
  return table;
}

std::vector<Tensor> make_inputs(const OpSample& sample, DType dtype, std::uint64_t seed) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i)
    tensors.push_back(make_input(sample.inputs[i], dtype, derive_key(seed, i)));
  return tensors;
}

}  // namespace skep
