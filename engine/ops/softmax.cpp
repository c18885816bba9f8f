// y = e^(x - max x) / Σ e^(x - max x) over the last dimension; dx = y (dy - Σ y dy). A row of -inf
// only gives zeros, not NaN; a NaN in a row shows in all of it.
#include <limits>

#include "engine/kernels/copy.h"
#include "engine/kernels/rows.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

template <class T>
struct SoftmaxRow {
  T* out;
  const T* in;
  std::int64_t columns;

  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    using C = Compute<T>;
    const T* x = in + row * columns;
    T* y = out + row * columns;
    const C lowest = -static_cast<C>(INFINITY);
    const C top =
        team.template max<C>(columns, lowest, [&](std::int64_t i) { return static_cast<C>(x[i]); });
    const C shift = top == lowest ? C(0) : top;
    const C total = team.template sum<C>(
        columns, [&](std::int64_t i) { return math::exp(static_cast<C>(x[i]) - shift); });
    const C factor = total == C(0) ? C(0) : C(1) / total;
    team.each(columns, [&](std::int64_t i) {
      y[i] = static_cast<T>(math::exp(static_cast<C>(x[i]) - shift) * factor);
    });
  }
};

template <class T>
struct SoftmaxGradRow {
  T* out;
  const T* y_all;
  const T* gy_all;
  std::int64_t columns;
  Write write;

  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    using C = Compute<T>;
    const T *y = y_all + row * columns, *gy = gy_all + row * columns;
    T* gx = out + row * columns;
    const C dot = team.template sum<C>(
        columns, [&](std::int64_t i) { return static_cast<C>(y[i]) * static_cast<C>(gy[i]); });
    team.each(columns, [&](std::int64_t i) {
      detail::store(gx[i], static_cast<C>(y[i]) * (static_cast<C>(gy[i]) - dot), write);
    });
  }
};

std::int64_t rows_of(const Tensor& t) { return t.size(-1) ? t.numel() / t.size(-1) : 0; }

struct Softmax final : Node {
  Saved y;

  Tensor forward(const Tensor& in) {
    check(in.rank() >= 1, "softmax: needs a dimension");
    const Tensor x = contiguous(in);
    Tensor out = empty_like(x);
    with_float(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_each_row(x.device(), rows_of(x), SoftmaxRow<T>{out.data<T>(), x.data<T>(), x.size(-1)});
    });
    y = out;
    return out;
  }
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    const Tensor gy = contiguous(grads[0]);
    const Destination gx = sink.slot(0);
    with_float(gy.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_each_row(gy.device(), rows_of(gy),
                   SoftmaxGradRow<T>{gx.tensor.data<T>(), y.get().data<T>(), gy.data<T>(),
                                     gy.size(-1), gx.write});
    });
  }
};

const OpEntry entry("softmax", "y = e^x / sum e^x over the last dimension", &softmax,
                    [](const Shape& x) { return x; }, {normal({3, 5})}, {{normal({2, 2, 7})}});

}  // namespace

Tensor softmax(const Tensor& x) { return apply(entry, Softmax{}, x); }

}  // namespace skep
