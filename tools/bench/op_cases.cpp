#include "tools/bench/op_cases.h"

#include <algorithm>
#include <array>

#include "engine/autograd/grad_slot.h"
#include "engine/core/random.h"
#include "engine/kernels/copy.h"
#include "engine/ops/op_table.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

using Tensors = std::vector<Tensor>;
using Role = CaseInput::Role;

CaseInput activation(Shape shape) { return {Role::activation, shape}; }
CaseInput weight(Shape shape) { return {Role::weight, shape}; }
CaseInput wide(Shape shape) { return {Role::wide, shape}; }
CaseInput narrow(Shape shape) { return {Role::narrow, shape}; }
CaseInput ids(Shape shape, std::int64_t below) { return {Role::ids, shape, below}; }

Work flops(double count) { return {count, 0}; }
Work bytes(double count) { return {0, count}; }
Work nothing() { return {}; }

/// The sizes of a block, as the table reads them.
struct Sizes {
  std::int64_t B, T, C, H, V;
  std::int64_t D, R;  ///< head size; rows: tokens of the batch
  double n;           ///< elements of (B, T, C)
  double scores;      ///< elements of (B, H, T, T)
  double size;        ///< bytes of an element of the type measured
  DType compute;

  Sizes(const BenchPreset& p, DType type)
      : B(p.batch),
        T(p.tokens),
        C(p.width),
        H(p.heads),
        V(p.vocab),
        D(C / H),
        R(B * T),
        n(static_cast<double>(R * C)),
        scores(static_cast<double>(B * H * T * T)),
        size(static_cast<double>(size_of(type))),
        compute(type) {}
};

// What a case calls, from a function of one tensor or of all of them that returns one.
template <class F>
std::function<Tensors(const Tensors&)> one(F f) {
  return [f](const Tensors& in) {
    if constexpr (std::is_invocable_v<F, const Tensor&>) {
      return Tensors{f(in[0])};
    } else {
      return Tensors{f(in)};
    }
  };
}

// Reads and writes of a pass over (B, T, C), in units of that tensor: y = a + b moves three.
void add_elementwise(std::vector<OpCase>& cases, const Sizes& s) {
  const Shape x{s.B, s.T, s.C}, inner{s.B, s.T, 4 * s.C};
  const double n = s.n * s.size;
  const auto sum_of = one([](const Tensors& in) { return add(in[0], in[1]); });
  const auto product_of = one([](const Tensors& in) { return mul(in[0], in[1]); });
  const auto scaled = one([](const Tensor& t) { return scale(t, 0.5); });
  const auto dropped = one([](const Tensor& t) { return dropout(t, 0.1, 1, 0); });
  const auto changed = one([compute = s.compute](const Tensor& t) { return cast(t, compute); });
  // Both inputs of an addition adopt its gradient.
  cases.push_back({"add", {activation(x), activation(x)}, bytes(3 * n), nothing(), sum_of});
  cases.push_back({"mul", {activation(x), activation(x)}, bytes(3 * n), bytes(5 * n), product_of});
  cases.push_back({"scale", {activation(x)}, bytes(2 * n), bytes(2 * n), scaled});
  cases.push_back({"exp", {activation(x)}, bytes(2 * n), bytes(3 * n), one(skep::exp)});
  cases.push_back({"tanh", {activation(x)}, bytes(2 * n), bytes(3 * n), one(skep::tanh)});
  cases.push_back({"gelu", {activation(inner)}, bytes(8 * n), bytes(12 * n), one(gelu)});
  cases.push_back({"dropout", {activation(x)}, bytes(2 * n), bytes(2 * n), dropped});
  // From the other type: 4 bytes on one side, 2 on the other.
  const CaseInput other = s.compute == DType::f32 ? narrow(x) : wide(x);
  cases.push_back({"cast", {other}, bytes(6 * s.n), bytes(6 * s.n), changed});
}

void add_products(std::vector<OpCase>& cases, const Sizes& s) {
  const double width = static_cast<double>(s.D);
  const double up = 2.0 * static_cast<double>(s.R * s.C * 4 * s.C);
  const double scores = 2 * s.scores * width;
  const auto product = one([](const Tensors& in) { return matmul(in[0], in[1]); });
  const auto projected = one([](const Tensors& in) { return linear(in[0], in[1], in[2]); });
  cases.push_back({"matmul",
                   {activation({s.B * s.H, s.T, s.D}), activation({s.B * s.H, s.D, s.T})},
                   flops(scores),
                   flops(2 * scores),
                   product});
  cases.push_back({"linear",
                   {activation({s.R, s.C}), weight({4 * s.C, s.C}), wide({4 * s.C})},
                   flops(up),
                   flops(2 * up),
                   projected});
}

// Two products forward, five backward (the scores are computed again), of the half that is seen.
void add_attention(std::vector<OpCase>& cases, const Sizes& s) {
  const Shape heads{s.B, s.T, s.H, s.D}, packed{s.B, s.T, 3 * s.C};
  const double width = static_cast<double>(s.D), time = static_cast<double>(s.T);
  const double product = 2 * s.scores * width * (time + 1) / (2 * time);
  cases.push_back({"attention",
                   {activation(heads), activation(heads), activation(heads)},
                   flops(2 * product),
                   flops(5 * product),
                   one([](const Tensors& in) { return attention(in[0], in[1], in[2], {}, {}); })});
  cases.push_back({"packed_attention",
                   {activation(packed)},
                   flops(2 * product),
                   flops(5 * product),
                   one([H = s.H](const Tensor& t) { return packed_attention(t, H); })});
}

void add_losses(std::vector<OpCase>& cases, const Sizes& s) {
  const double table = static_cast<double>(s.V * s.C);
  const double product = 2.0 * static_cast<double>(s.R) * table;
  const double logits = static_cast<double>(s.R * s.V) * s.size;
  // All three products while going forward; backward scales dx and dW by the incoming gradient.
  cases.push_back(
      {"head_cross_entropy",
       {activation({s.R, s.C}), weight({s.V, s.C}), ids({s.R}, s.V)},
       flops(3 * product),
       bytes(2 * (s.n * s.size + table * 4)),
       one([V = s.V](const Tensors& in) { return head_cross_entropy(in[0], in[1], in[2], V); })});
  cases.push_back({"cross_entropy",
                   {activation({s.R, s.V}), ids({s.R}, s.V)},
                   bytes(logits),
                   bytes(2 * logits),
                   one([](const Tensors& in) { return cross_entropy(in[0], in[1]); })});
}

void add_rows(std::vector<OpCase>& cases, const Sizes& s) {
  const Shape x{s.B, s.T, s.C}, table{s.V, s.C};
  const double n = s.n * s.size, scores = s.scores * s.size;
  const double rows = static_cast<double>(table.numel()) * s.size;
  // fp32 on the residual's side, the measured type on the other.
  cases.push_back({"layer_norm",
                   {wide(x), wide({s.C}), wide({s.C})},
                   bytes(4 * s.n + n),
                   bytes(8 * s.n + n),
                   one([compute = s.compute](const Tensors& in) {
                     return layer_norm(in[0], in[1], in[2], 1e-5, compute);
                   })});
  cases.push_back({"residual_norm",
                   {wide(x), wide(x), wide({s.C}), wide({s.C})},
                   bytes(12 * s.n + n),
                   bytes(12 * s.n + n),
                   [compute = s.compute](const Tensors& in) {
                     return residual_norm(in[0], in[1], in[2], in[3], 1e-5, compute);
                   }});
  cases.push_back({"softmax",
                   {activation({s.B, s.H, s.T, s.T})},
                   bytes(2 * scores),
                   bytes(3 * scores),
                   one(softmax)});
  cases.push_back({"embedding",
                   {activation(table), ids({s.B, s.T}, s.V)},
                   bytes(2 * n),
                   bytes(n + rows),  // the whole table's gradient is written
                   one([](const Tensors& in) { return embedding(in[0], in[1]); })});
  const auto columns = one([](const Tensor& t) { return sum_dim(t, 0); });
  cases.push_back({"sum", {activation(x)}, bytes(n), bytes(n), one(sum)});
  cases.push_back({"mean", {activation(x)}, bytes(n), bytes(n), one(mean)});
  cases.push_back({"sum_dim", {activation({s.R, s.C})}, bytes(n), bytes(n), columns});
}

void add_views(std::vector<OpCase>& cases, const Sizes& s) {
  const Shape x{s.B, s.T, s.C}, heads{s.B, s.T, s.H, s.D}, packed{s.B, s.T, 3 * s.C};
  const double n = s.n * s.size;
  const auto cut = one([heads](const Tensor& t) { return reshape(t, heads); });
  const auto exchanged = one([](const Tensor& t) { return transpose(t, 1, 2); });
  const auto middle = one([C = s.C](const Tensor& t) { return slice(t, 2, C, C); });
  const auto parts = [](const Tensors& in) { return split(in[0], 2, 3); };
  cases.push_back({"reshape", {activation(x)}, nothing(), nothing(), cut});
  cases.push_back({"transpose", {activation(heads)}, nothing(), nothing(), exchanged});
  // The gradient of the part is read, that of the whole is written.
  cases.push_back({"slice", {activation(packed)}, nothing(), bytes(4 * n), middle});
  cases.push_back({"split", {activation(packed)}, nothing(), bytes(6 * n), parts});
}

// A short pattern, repeated: speed does not depend on the values, and they are quickly made.
Tensor patterned(const Shape& shape, DType dtype) {
  constexpr std::int64_t length = 1021;
  static const std::array<float, length> pattern = [] {
    std::array<float, length> values;
    for (std::int64_t i = 0; i < length; ++i)
      values[i] = static_cast<float>(random_normal(1, static_cast<std::uint64_t>(i)));
    return values;
  }();
  const Tensor t = empty(shape);
  float* out = t.data<float>();
  for (std::int64_t i = 0; i < t.numel(); ++i) out[i] = pattern[i % length];
  return converted(t, dtype);
}

Tensor make_input(const CaseInput& input, DType compute) {
  if (input.role == Role::ids) {
    std::vector<std::int32_t> values(input.shape.numel());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::int32_t>(random_below(2, i, input.below));
    return tensor_of(values, input.shape);
  }
  const DType dtype = input.role == Role::wide     ? DType::f32
                      : input.role == Role::narrow ? DType::bf16
                                                   : compute;
  const Tensor t = with_grad(patterned(input.shape, dtype));
  if (input.role == Role::weight) t.slot()->dtype = DType::f32;
  return t;
}

}  // namespace

std::string OpCase::shapes() const {
  std::string text;
  for (std::size_t i = 0, same = 1; i < inputs.size(); i += same, same = 1) {
    while (i + same < inputs.size() && inputs[i + same].shape == inputs[i].shape) ++same;
    if (!text.empty()) text += ' ';
    text += to_string(inputs[i].shape);
    if (same > 1) text += fmt::format(" x {}", same);
  }
  return text;
}

std::vector<OpCase> op_cases(const BenchPreset& preset, DType compute) {
  const Sizes sizes(preset, compute);
  std::vector<OpCase> cases;
  add_products(cases, sizes);
  add_attention(cases, sizes);
  add_losses(cases, sizes);
  add_rows(cases, sizes);
  add_elementwise(cases, sizes);
  add_views(cases, sizes);
  return cases;
}

std::vector<Tensor> make_inputs(const OpCase& op_case, DType compute) {
  std::vector<Tensor> inputs;
  for (const CaseInput& input : op_case.inputs) inputs.push_back(make_input(input, compute));
  return inputs;
}

std::vector<std::string> unmeasured_ops(const std::vector<OpCase>& cases) {
  std::vector<std::string> names;
  for (const OpEntry* op : op_table())
    if (std::none_of(cases.begin(), cases.end(),
                     [&](const OpCase& c) { return c.op == op->name(); }))
      names.push_back(op->name());
  return names;
}

}  // namespace skep
