// Σ over rows of lse - x_target + z lse², lse = log Σ_j e^(x_j); the last term is the z-loss
// (Chowdhery et al. 2022). dx = dy (softmax(x) (1 + 2 z lse) - onehot(target)). A row with target
// -1 adds nothing and gets a zero gradient, even where its logits are NaN. The sum, not the mean:
// the trainer divides once, by the tokens of all ranks and micro-batches.
#include "engine/kernels/copy.h"
#include "engine/kernels/reduce.h"
#include "engine/kernels/rows.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

template <class T>
struct LossRow {
  Compute<T>* loss;
  Compute<T>* log_sum_exp;
  const T* logits;
  const std::int32_t* targets;
  std::int64_t columns, row_stride;
  Compute<T> z_weight;

  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    using C = Compute<T>;
    const T* x = logits + row * row_stride;
    const std::int32_t target = targets[row];
    if (target < 0) {
      team.once([&] { loss[row] = log_sum_exp[row] = C(0); });
      return;
    }
    const C top = team.template max<C>(columns, -static_cast<C>(INFINITY),
                                       [&](std::int64_t i) { return static_cast<C>(x[i]); });
    const C total = team.template sum<C>(
        columns, [&](std::int64_t i) { return math::exp(static_cast<C>(x[i]) - top); });
    const C lse = top + math::log(total);
    team.once([&] {
      log_sum_exp[row] = lse;
      loss[row] = lse - static_cast<C>(x[target]) + z_weight * lse * lse;
    });
  }
};

template <class T>
struct LossGradRow {
  T* out;
  const T* logits;
  const Compute<T>* log_sum_exp;
  const Compute<T>* grad_loss;  // one element
  const std::int32_t* targets;
  std::int64_t columns, row_stride;
  Compute<T> z_weight;
  Write write;

  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    using C = Compute<T>;
    const T* x = logits + row * row_stride;
    T* gx = out + row * columns;
    const std::int32_t target = targets[row];
    const C g = *grad_loss, lse = log_sum_exp[row], lift = C(1) + C(2) * z_weight * lse;
    if (target < 0) {
      team.each(columns, [&](std::int64_t i) { detail::store(gx[i], C(0), write); });
      return;
    }
    // The target's element is stored once, from what was there before: in bf16 a probability near
    // one rounds to one, and its difference to one would be lost.
    T before{};
    team.once([&] { before = gx[target]; });
    team.each(columns, [&](std::int64_t i) {
      detail::store(gx[i], g * lift * math::exp(static_cast<C>(x[i]) - lse), write);
    });
    team.once([&] {
      gx[target] = before;
      detail::store(gx[target], g * (lift * math::exp(static_cast<C>(x[target]) - lse) - C(1)),
                    write);
    });
  }
};

Shape loss_shape(const Shape& logits, const Shape& targets, double) {
  Shape rows;
  for (int i = 0; i < logits.rank() - 1; ++i) rows.push_back(logits[i]);
  check(logits.rank() >= 1 && rows == targets, "cross_entropy: targets {} do not fit logits {}",
        targets, logits);
  return {};
}

// (.., V) as rows (R, V) with adjacent columns: padded logits stay where they are.
Tensor rows_of(const Tensor& t) {
  const Shape flat{t.size(-1) ? t.numel() / t.size(-1) : 0, t.size(-1)};
  const bool view = t.strides()[-1] == 1 && t.can_reshape(flat);
  return view ? t.reshaped(flat) : contiguous(t).reshaped(flat);
}

// What is on a GPU was looked at on the host, before it went there.
void check_targets(const Tensor& targets, std::int64_t classes) {
  if (targets.device().kind != Device::Kind::cpu) return;
  const auto* target = targets.data<std::int32_t>();
  for (std::int64_t i = 0; i < targets.numel(); ++i)
    check(target[i] >= -1 && target[i] < classes,
          "cross_entropy: target {} at position {} is outside {} classes", target[i], i, classes);
}

struct CrossEntropy final : Node {
  double z_weight;
  Saved logits, targets, log_sum_exp;
  explicit CrossEntropy(double z) : z_weight(z) {}

  Tensor forward(const Tensor& logits_in, const Tensor& targets_in) {
    loss_shape(logits_in.shape(), targets_in.shape(), z_weight);
    const Tensor x = rows_of(logits_in), list = contiguous(targets_in);
    check_targets(list, x.size(1));
    Tensor total;
    with_float(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      using C = Compute<T>;
      const Tensor loss = empty({x.size(0)}, DTypeOf<C>::value, x.device()), lse = empty_like(loss);
      for_each_row(x.device(), x.size(0),
                   LossRow<T>{loss.data<C>(), lse.data<C>(), x.data<T>(), list.data<std::int32_t>(),
                              x.size(1), x.strides()[0], static_cast<C>(z_weight)});
      total = empty({}, DTypeOf<C>::value, x.device());
      sum_to({total}, loss);
      log_sum_exp = lse;
    });
    logits = x, targets = list;
    return total;
  }
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    const Tensor &x = logits.get(), &list = targets.get();
    const Destination out = sink.slot(0);
    with_float(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      using C = Compute<T>;
      for_each_row(x.device(), x.size(0),
                   LossGradRow<T>{out.tensor.data<T>(), x.data<T>(), log_sum_exp.get().data<C>(),
                                  grads[0].data<C>(), list.data<std::int32_t>(), x.size(1),
                                  x.strides()[0], static_cast<C>(z_weight), out.write});
    });
  }
};

const OpEntry entry("cross_entropy",
                    "y = sum over rows of lse - x[target] + z lse^2, target -1 ignored",
                    &cross_entropy, loss_shape, {normal({4, 7}), ids({4}, 7), 0.0},
                    {{normal({2, 3, 5}), ids({2, 3}, 5), 0.3}});

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, double z_weight) {
  return apply(entry, CrossEntropy{z_weight}, logits, targets);
}

}  // namespace skep
