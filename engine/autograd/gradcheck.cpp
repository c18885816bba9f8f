#include "engine/autograd/gradcheck.h"

#include <cmath>

#include "engine/autograd/tape.h"
#include "engine/core/random.h"

namespace skep {
namespace {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

double weight(std::size_t output, std::int64_t i) {
  return random_normal(derive_key(31, output), i);
}

double contracted(const Function& function, const std::vector<Tensor>& inputs) {
  const NoGrad pause;
  const auto outputs = function(inputs);
  double total = 0;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto values = to_doubles(outputs[k]);
    for (std::size_t i = 0; i < values.size(); ++i)
      total += weight(k, static_cast<std::int64_t>(i)) * values[i];
  }
  return total;
}

// One node that joins all outputs to the scalar above; its backward hands each output its weights.
struct Contract final : Node {
  std::vector<Shape> shapes;
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      std::vector<double> values(shapes[k].numel());
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = weight(k, static_cast<std::int64_t>(i)) * grads[0].item();
      sink.give(static_cast<int>(k), tensor_of(values, shapes[k]));
    }
  }
};

void run_backward(const Function& function, const std::vector<Tensor>& inputs) {
  Tape tape;
  const auto outputs = function(inputs);
  auto node = std::make_unique<Contract>();
  node->set_name("contract");
  for (const Tensor& out : outputs) {
    node->inputs.push_back(out.slot());
    node->shapes.push_back(out.shape());
  }
  const Tensor loss = with_grad(empty({}, DType::f64));
  node->outputs.push_back(loss.slot());
  tape.record(std::move(node));
  tape.backward(loss);
}

}  // namespace

GradcheckResult gradcheck(const Function& function, const std::vector<Tensor>& inputs,
                          double step) {
  GradcheckResult result;
  run_backward(function, inputs);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Tensor& x = inputs[k];
    if (!x.defined() || !x.wants_grad()) continue;
    check(x.is_contiguous(), "gradcheck: input {} is not contiguous", k);
    const Tensor grad = grad_of(x);
    check(!grad.defined() || grad.shape() == x.shape(),
          "gradcheck: gradient {} for input {} of shape {}", grad.shape(), k, x.shape());
    const std::vector<double> analytic =
        grad.defined() ? to_doubles(grad) : std::vector<double>(x.numel(), 0.0);
    double* values = x.data<double>();
    for (std::int64_t i = 0; i < x.numel(); ++i, ++result.elements) {
      const double keep = values[i];
      values[i] = keep + step;
      const double up = contracted(function, inputs);
      values[i] = keep - step;
      const double down = contracted(function, inputs);
      values[i] = keep;
      const double numeric = (up - down) / (2 * step);
      const double error = std::abs(analytic[i] - numeric) / (1 + std::abs(numeric));
      if (error > result.worst_error || std::isnan(error)) {
        result.worst_error = error;
        result.where =
            fmt::format("input {} element {}: {} against {}", k, i, analytic[i], numeric);
      }
    }
  }
  return result;
}

}  // namespace skep
