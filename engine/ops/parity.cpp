#include "engine/ops/parity.h"

#include <algorithm>
#include <cmath>

#include "engine/backends/transfer.h"
#include "engine/core/random.h"
#include "engine/kernels/copy.h"

namespace skep {
namespace {

// A node that hands chosen gradients to its inputs, as a loss would.
struct Feed final : Node {
  std::vector<Tensor> gradients;
  void backward(std::span<const Tensor>, GradSink& sink) override {
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (gradients[i].defined()) sink.give(static_cast<int>(i), gradients[i]);
  }
};

double length(const Values& values) {
  double square = 0;
  for (const double x : values) square += x * x;
  return std::sqrt(square);
}

}  // namespace

Tensor random_tensor(const Shape& shape, DType dtype, std::uint64_t seed) {
  Values values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(bf16(static_cast<float>(random_normal(seed, i))));
  return converted(tensor_of(values, shape), dtype);
}

void backward_from(Tape& tape, const std::vector<Tensor>& outputs,
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

Outcome run_both_ways(const Function& function, const std::vector<Tensor>& inputs,
                      const std::function<Tensor(const Tensor&)>& arrange) {
  Tape tape;
  const auto outputs = function(inputs);
  std::vector<Tensor> gradients;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& out = outputs[k];
    const Tensor gradient =
        to_device(random_tensor(out.shape(), out.dtype(), 900 + k), out.device());
    gradients.push_back(arrange ? arrange(gradient) : gradient);
  }
  Outcome outcome;
  for (const Tensor& out : outputs) outcome.outputs.push_back(to_doubles(out));
  backward_from(tape, outputs, gradients);
  for (const Tensor& in : inputs) {
    const bool has = in.defined() && grad_of(in).defined();
    outcome.grads.push_back(has ? to_doubles(grad_of(in)) : Values{});
  }
  return outcome;
}

double relative_error(const Values& got, const Values& want) {
  if (got.size() != want.size()) return INFINITY;
  Values difference = got;
  for (std::size_t i = 0; i < got.size(); ++i) difference[i] -= want[i];
  const double size = length(want);
  const double error = size > 0 ? length(difference) / size : length(difference);
  return std::isnan(error) ? INFINITY : error;
}

double relative_error(const Outcome& got, const Outcome& want) {
  double worst = 0;
  for (std::size_t i = 0; i < want.outputs.size(); ++i)
    worst = std::max(worst, relative_error(got.outputs.at(i), want.outputs[i]));
  for (std::size_t i = 0; i < want.grads.size(); ++i) {
    const double size = length(want.grads[i]);
    const double floor = 0.1 * std::sqrt(static_cast<double>(want.grads[i].size()));
    const double error = relative_error(got.grads.at(i), want.grads[i]);
    worst = std::max(worst, size > 0 ? error * std::min(1.0, size / floor) : error);
  }
  return worst;
}

double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-13;
    case DType::f32:
      return 2e-6;
    case DType::f16:
      return 2e-3;
    default:
      return 1.6e-2;
  }
}

}  // namespace skep
