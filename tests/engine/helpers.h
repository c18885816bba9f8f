#pragma once
// What the engine's tests share: random tensors in every layout, error measures, and a way to send
// chosen gradients into the outputs of a function.
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/autograd/tape.h"
#include "engine/backends/transfer.h"
#include "engine/core/random.h"
#include "engine/kernels/copy.h"

namespace skep::testing {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
using Values = std::vector<double>;

inline constexpr DType float_types[] = {DType::f64, DType::f32, DType::bf16, DType::f16};

/// Normal numbers with eight significant bits: the same numbers in every floating type.
inline Tensor random_tensor(const Shape& shape, DType dtype, std::uint64_t seed) {
  Values values(shape.numel());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(bf16(static_cast<float>(random_normal(seed, i))));
  return converted(tensor_of(values, shape), dtype);
}

/// ||got - want|| / ||want||; the norm of the difference itself when `want` is zero. Anything that
/// is not a number gives infinity.
inline double relative_error(const Values& got, const Values& want) {
  if (got.size() != want.size()) return INFINITY;
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  const double error = size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
  return std::isnan(error) ? INFINITY : error;
}
inline double relative_error(const Tensor& got, const Tensor& want) {
  return got.shape() == want.shape() ? relative_error(to_doubles(got), to_doubles(want)) : INFINITY;
}
/// max |got - want|.
inline double largest_error(const Values& got, const Values& want) {
  if (got.size() != want.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - want[i]);
    if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
  }
  return worst;
}

/// The message of the skep::Error that `f` throws; empty if it throws none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Ways to lay the same elements out in memory.
enum class Layout { contiguous, reversed, sliced, every_second };
inline constexpr Layout strided_layouts[] = {Layout::reversed, Layout::sliced,
                                             Layout::every_second};

/// A view that holds the elements of `t` under other strides.
inline Tensor laid_out(const Tensor& t, Layout layout) {
  if (!t.defined() || layout == Layout::contiguous || (t.rank() == 0 && layout != Layout::sliced))
    return t;
  Shape shape;
  const int rank = t.rank();
  Tensor view;
  if (layout == Layout::reversed) {  // the first dimension is adjacent in memory
    for (int i = rank - 1; i >= 0; --i) shape.push_back(t.size(i));
    view = zeros(shape, t.dtype(), t.device());
    for (int i = 0; i < rank / 2; ++i) view = view.transposed(i, rank - 1 - i);
  } else if (layout == Layout::sliced) {  // surrounded by other elements in every dimension
    for (std::int64_t n : t.shape()) shape.push_back(n + 3);
    view = zeros(shape, t.dtype(), t.device());
    for (int i = 0; i < rank; ++i) view = view.sliced(i, 1, t.size(i));
  } else {  // no dimension is adjacent
    shape = t.shape();
    shape[-1] *= 2;
    view = zeros(shape, t.dtype(), t.device());
    Strides strides = view.strides();
    strides[-1] = 2;
    view = view.with_layout(t.shape(), strides, 0);
  }
  copy(view, t);
  return view;
}

/// A node that hands chosen gradients to its inputs, as a loss would.
struct Feed final : Node {
  std::vector<Tensor> gradients;
  void backward(std::span<const Tensor>, GradSink& sink) override {
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (gradients[i].defined()) sink.give(static_cast<int>(i), gradients[i]);
  }
};

/// Backward on the current tape from `outputs` with these gradients (undefined: none flows).
inline void backward_from(Tape& tape, const std::vector<Tensor>& outputs,
                          const std::vector<Tensor>& gradients) {
  auto node = std::make_unique<Feed>();
  node->set_name("feed");
  node->gradients = gradients;
  for (const Tensor& out : outputs) node->inputs.push_back(out.slot());
  const Tensor loss = with_grad(empty({}, DType::f64));
  node->outputs.push_back(loss.slot());
  tape.record(std::move(node));
  tape.backward(loss);
}

/// What a function gave, forward and backward, as numbers.
struct Outcome {
  std::vector<Values> outputs, grads;  ///< grads: one per input, empty where none was wanted
};

/// Runs `function` and backward from random output gradients laid out as `layout`.
inline Outcome run(const Function& function, const std::vector<Tensor>& inputs,
                   Layout layout = Layout::contiguous) {
  Tape tape;
  const auto outputs = function(inputs);
  std::vector<Tensor> gradients;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    gradients.push_back(
        laid_out(to_device(random_tensor(outputs[k].shape(), outputs[k].dtype(), 900 + k),
                           outputs[k].device()),
                 layout));
  Outcome outcome;
  for (const Tensor& out : outputs) outcome.outputs.push_back(to_doubles(out));
  backward_from(tape, outputs, gradients);
  for (const Tensor& in : inputs) {
    const bool has = in.defined() && grad_of(in).defined();
    outcome.grads.push_back(has ? to_doubles(grad_of(in)) : Values{});
  }
  return outcome;
}

/// The worst relative error over all outputs and gradients of two runs. Inputs are of size one; a
/// gradient whose root mean square is below a tenth is compared with a tenth: one that vanishes in
/// exact arithmetic is nothing but rounding.
inline double relative_error(const Outcome& got, const Outcome& want) {
  double worst = 0;
  for (std::size_t i = 0; i < want.outputs.size(); ++i)
    worst = std::max(worst, relative_error(got.outputs.at(i), want.outputs[i]));
  for (std::size_t i = 0; i < want.grads.size(); ++i) {
    double square = 0;
    for (double g : want.grads[i]) square += g * g;
    const double size = std::sqrt(square),
                 floor = 0.1 * std::sqrt(static_cast<double>(want.grads[i].size()));
    const double error = relative_error(got.grads.at(i), want.grads[i]);
    worst = std::max(worst, size > 0 ? error * std::min(1.0, size / floor) : error);
  }
  return worst;
}

}  // namespace skep::testing
