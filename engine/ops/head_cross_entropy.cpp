// Σ over rows of a (-log softmax(x Wᵀ)[target]) + b lse² (z-loss, see cross_entropy) for task
// weights (a, b): the head and its losses as one op, in chunks of rows, so that logits never exist
// all at once (64 sequences of 1024 tokens times 50257 classes are 13 GB). Where gradients are
// wanted the forward pass turns each chunk's logits into their gradient in place and multiplies on:
// dx and dW for an upstream gradient of 1, which backward then scales. The gradient of the task
// weights is the two sums.
#include <algorithm>

#include "engine/backends/backend.h"
#include "engine/core/background.h"
#include "engine/kernels/copy.h"
#include "engine/kernels/reduce.h"
#include "engine/kernels/rows.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

constexpr std::int64_t chunk_rows = 512;  // shorter ones stream the whole of W too often

// One row of logits -> its losses, and softmax (a + 2 b lse) - a onehot as T (which may be the same
// memory).
template <class T>
struct HeadRow {
  Compute<T>* loss;
  Compute<T>* square;
  Compute<T>* logits;
  T* grad;
  const std::int32_t* targets;
  std::int64_t columns, stride;
  const Compute<T>* task_weights;

  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    using C = Compute<T>;
    C* x = logits + row * stride;
    T* d = grad + row * stride;
    const std::int32_t target = targets[row];
    if (target < 0) {  // whatever the logits hold
      team.each(columns, [&](std::int64_t i) { d[i] = static_cast<T>(C(0)); });
      team.once([&] { loss[row] = square[row] = C(0); });
      return;
    }
    C at_target{}, at_one{};  // of the row: read before other lanes write over them
    team.once([&] { at_target = x[target]; });
    const C top = team.template max<C>(columns, -static_cast<C>(INFINITY),
                                       [&](std::int64_t i) { return x[i]; });
    const C total =
        team.template sum<C>(columns, [&](std::int64_t i) { return x[i] = math::exp(x[i] - top); });
    const C lse = top + math::log(total);
    const C main = task_weights[0], factor = (main + C(2) * task_weights[1] * lse) / total;
    team.once([&] { at_one = x[target] * factor - main; });
    team.each(columns, [&](std::int64_t i) { d[i] = static_cast<T>(x[i] * factor); });
    team.once([&] {
      d[target] = static_cast<T>(at_one);
      loss[row] = lse - at_target;
      square[row] = lse * lse;
    });
  }
};

// x times the upstream gradient, which stays in the compute type: as fp16 a loss scale of 65536
// would overflow.
template <class C>
struct TimesUpstream {
  const C* factor;
  template <class T>
  HD T operator()(T x) const {
    return static_cast<T>(static_cast<C>(x) * *factor);
  }
};

struct Product {
  template <class T>
  HD T operator()(T a, T b) const {
    return a * b;
  }
};

Shape head_shape(const Shape& x, const Shape& weight, const Shape& targets, std::int64_t classes,
                 const Shape& task_weights) {
  Shape rows;
  for (int i = 0; i < x.rank() - 1; ++i) rows.push_back(x[i]);
  check(x.rank() >= 1 && weight.rank() == 2 && x[-1] == weight[1] && rows == targets &&
            classes >= 1 && classes <= weight[0] && task_weights.rank() == 1 &&
            task_weights[0] == 2,
        "head_cross_entropy: input {}, weight {}, targets {}, {} classes, task weights {} do not "
        "fit",
        x, weight, targets, classes, task_weights);
  return {};
}

// What is on a GPU was looked at on the host, before it went there.
void check_targets(const Tensor& targets, std::int64_t classes) {
  if (targets.device().kind != Device::Kind::cpu) return;
  const auto* target = targets.data<std::int32_t>();
  for (std::int64_t i = 0; i < targets.numel(); ++i)
    check(target[i] >= -1 && target[i] < classes,
          "head_cross_entropy: target {} at position {} is outside {} classes", target[i], i,
          classes);
}

struct HeadCrossEntropy final : Node {
  static constexpr MixesTypes mixes_types = MixesTypes::yes;  // task weights are never narrow
  std::int64_t classes;
  Tensor sums;                // (2), to be filled: of the losses, without their weights
  Saved grad_x, grad_weight;  // for an upstream gradient of 1; the weight's without padding rows
  Saved kept_sums;
  HeadCrossEntropy(std::int64_t n, Tensor s) : classes(n), sums(std::move(s)) {}

  Tensor forward(const Tensor& x_in, const Tensor& weight, const Tensor& targets_in,
                 const Tensor& task_weights) {
    head_shape(x_in.shape(), weight.shape(), targets_in.shape(), classes, task_weights.shape());
    check(x_in.dtype() == weight.dtype(),
          "input is {}, weight {}: they must share one type, cast one", name_of(x_in.dtype()),
          name_of(weight.dtype()));
    const Tensor x = contiguous(x_in).reshaped({targets_in.numel(), weight.size(1)});
    const Tensor targets = contiguous(targets_in);
    check_targets(targets, classes);
    const Tensor factors = converted(contiguous(task_weights), sums.dtype());
    with_float(x.dtype(),
               [&](auto zero) { forward_as<decltype(zero)>(x, weight, targets, factors); });
    kept_sums = sums;
    const Tensor weighted = empty_like(sums), total = empty({}, sums.dtype(), sums.device());
    elementwise({weighted}, Product{}, sums, factors);
    sum_to({total}, weighted);
    return total;
  }
  template <class T>
  void forward_as(const Tensor& x, const Tensor& weight, const Tensor& targets,
                  const Tensor& factors) {
    using C = Compute<T>;
    const std::int64_t rows = x.size(0), chunk = std::min(rows, chunk_rows);
    const std::int64_t stride = (classes + 15) / 16 * 16;  // every row on a 64-byte boundary
    const Tensor head = weight.sliced(0, 0, classes);
    const Tensor losses = empty({2, rows}, DTypeOf<C>::value, x.device());
    const Tensor logits = empty({chunk, stride}, DTypeOf<C>::value, x.device());
    const Tensor grad =
        std::is_same_v<T, C> ? logits : empty({chunk, stride}, x.dtype(), x.device());
    const bool wanted = recording();
    const Tensor gx = wanted ? empty_like(x) : Tensor{};
    const Tensor gw = wanted ? zeros(head.shape(), DTypeOf<C>::value, x.device()) : Tensor{};
    Backend& device = backend(x.device());
    for (std::int64_t begin = 0; begin < rows; begin += chunk) {
      Background::poll();
      const std::int64_t n = std::min(chunk, rows - begin);
      const Tensor part = x.sliced(0, begin, n);
      device.gemm(as_matrix(part), as_matrix(head).transposed(), block(logits, n), {});
      for_each_row(
          x.device(), n,
          HeadRow<T>{losses.data<C>() + begin, losses.data<C>() + rows + begin, logits.data<C>(),
                     grad.data<T>(), targets.data<std::int32_t>() + begin, classes, stride,
                     factors.data<C>()});
      if (!wanted) continue;
      device.gemm(block(grad, n), as_matrix(head), as_matrix(gx.sliced(0, begin, n)), {});
      device.gemm(block(grad, n).transposed(), as_matrix(part), as_matrix(gw),
                  {.write = begin == 0 ? Write::overwrite : Write::accumulate});
    }
    if (wanted) grad_x = gx, grad_weight = gw;
    for (const std::int64_t task : {0, 1})
      if (rows > 0) sum_to({sums.sliced(0, task, 1)}, losses.sliced(0, task, 1).reshaped({rows}));
  }
  // The used part of a chunk buffer: (n, classes).
  Matrix block(const Tensor& buffer, std::int64_t n) const {
    return as_matrix(buffer.sliced(0, 0, n).sliced(1, 0, classes));
  }
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    with_float(grads[0].dtype(), [&](auto zero) {
      using C = Compute<decltype(zero)>;  // the loss is never narrow
      backward_as(TimesUpstream<C>{grads[0].data<C>()}, sink);
    });
  }
  template <class C>
  void backward_as(const TimesUpstream<C>& scaled, GradSink& sink) {
    if (sink.wants(0)) {
      const Destination out = sink.slot(0);
      elementwise(out, scaled, grad_x.get().reshaped(out.tensor.shape()));
    }
    if (sink.wants(1)) {
      const Destination out = sink.slot(1);
      const std::int64_t padding = out.tensor.size(0) - classes;
      if (out.write == Write::overwrite) fill(out.tensor.sliced(0, classes, padding), 0);
      elementwise({out.tensor.sliced(0, 0, classes), out.write}, scaled,
                  converted(grad_weight.get(), out.tensor.dtype()));
    }
    if (sink.wants(3)) {
      const Destination out = sink.slot(3);
      elementwise(out, scaled, converted(kept_sums.get(), out.tensor.dtype()));
    }
  }
};

Tensor total_of(const Tensor& x, const Tensor& weight, const Tensor& targets, std::int64_t classes,
                const Tensor& task_weights) {
  return head_losses(x, weight, targets, classes, task_weights).total;
}

const Input pair = normal({2});  // of task weights
const OpEntry entry("head_cross_entropy", "y = a sum cross_entropy(x W^T, target) + b sum lse^2",
                    &total_of, head_shape,
                    {normal({4, 3}), normal({7, 3}), ids({4}, 6), std::int64_t{6}, pair},
                    {{normal({2, 3, 5}), normal({9, 5}), ids({2, 3}, 9), std::int64_t{9}, pair},
                     {normal({700, 2}), normal({3, 2}), ids({700}, 3), std::int64_t{3}, pair}});

}  // namespace

WeightedLosses head_losses(const Tensor& x, const Tensor& weight, const Tensor& targets,
                           std::int64_t classes, const Tensor& task_weights) {
  const Tensor sums = zeros({2}, compute_type(x.dtype()), x.device());
  return {apply(entry, HeadCrossEntropy{classes, sums}, x, weight, targets, task_weights), sums};
}

Tensor head_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                          std::int64_t classes, double z_weight) {
  const Tensor task_weights = tensor_of(std::vector<double>{1, z_weight}, {2});
  return head_losses(x, weight, targets, classes, task_weights).total;
}

}  // namespace skep
