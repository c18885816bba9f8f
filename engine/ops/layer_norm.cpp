// y = (x - μ) r · gain + bias, r = 1 / sqrt(variance + eps), over the last dimension (Ba et al.
// 2016). Two passes: the variance is the mean of (x - μ)², since E[x²] - E[x]² cancels. With
// h = (x - μ) r and d = dy · gain: dx = r (d - mean(d) - h mean(d h)); dgain = Σ dy h; dbias = Σ
// dy.
#include "engine/kernels/copy.h"
#include "engine/kernels/reduce.h"
#include "engine/kernels/rows.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

template <class T>
struct NormRow {
  T* out;
  const T* in;
  const T* gain;
  const T* bias;  // or null
  Compute<T>* mean_out;
  Compute<T>* rstd_out;
  std::int64_t columns;
  double eps;

  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    using C = Compute<T>;
    const T* x = in + row * columns;
    T* y = out + row * columns;
    const C n = static_cast<C>(columns);
    const C mean =
        team.template sum<C>(columns, [&](std::int64_t i) { return static_cast<C>(x[i]); }) / n;
    const C variance = team.template sum<C>(columns, [&](std::int64_t i) {
      const C d = static_cast<C>(x[i]) - mean;
      return d * d;
    }) / n;
    const C rstd = C(1) / math::sqrt(variance + static_cast<C>(eps));
    team.once([&] {
      mean_out[row] = mean;
      rstd_out[row] = rstd;
    });
    if (bias) {
      team.each(columns, [&](std::int64_t i) {
        y[i] = static_cast<T>((static_cast<C>(x[i]) - mean) * rstd * static_cast<C>(gain[i]) +
                              static_cast<C>(bias[i]));
      });
    } else {
      team.each(columns, [&](std::int64_t i) {
        y[i] = static_cast<T>((static_cast<C>(x[i]) - mean) * rstd * static_cast<C>(gain[i]));
      });
    }
  }
};

template <class T>
struct NormGradRow {
  T* out;
  const T* in;
  const T* grad;
  const T* gain;
  const Compute<T>* mean_in;
  const Compute<T>* rstd_in;
  std::int64_t columns;
  Write write;

  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    using C = Compute<T>;
    const T *x = in + row * columns, *gy = grad + row * columns;
    T* gx = out + row * columns;
    const C mean = mean_in[row], rstd = rstd_in[row], n = static_cast<C>(columns);
    const C mean_d = team.template sum<C>(columns, [&](std::int64_t i) {
      return static_cast<C>(gy[i]) * static_cast<C>(gain[i]);
    }) / n;
    const C mean_dh = team.template sum<C>(columns, [&](std::int64_t i) {
      return static_cast<C>(gy[i]) * static_cast<C>(gain[i]) *
             ((static_cast<C>(x[i]) - mean) * rstd);
    }) / n;
    team.each(columns, [&](std::int64_t i) {
      const C d = static_cast<C>(gy[i]) * static_cast<C>(gain[i]),
              h = (static_cast<C>(x[i]) - mean) * rstd;
      detail::store(gx[i], rstd * (d - mean_d - h * mean_dh), write);
    });
  }
};

template <class T>
struct GainTerm {
  const T* x;
  const T* gy;
  const Compute<T>* mean;
  const Compute<T>* rstd;
  std::int64_t columns;
  HD Compute<T> operator()(std::int64_t r, std::int64_t c) const {
    using C = Compute<T>;
    return static_cast<C>(gy[r * columns + c]) *
           ((static_cast<C>(x[r * columns + c]) - mean[r]) * rstd[r]);
  }
};
template <class T>
struct BiasTerm {
  const T* gy;
  std::int64_t columns;
  HD Compute<T> operator()(std::int64_t r, std::int64_t c) const {
    return static_cast<Compute<T>>(gy[r * columns + c]);
  }
};

Shape norm_shape(const Shape& x, const Shape& gain, const Shape& bias, double) {
  check(x.rank() >= 1 && gain == Shape{x[-1]}, "layer_norm: gain {} does not fit {}", gain, x);
  check(bias.rank() == 0 || bias == gain, "layer_norm: bias {} does not fit gain {}", bias, gain);
  return x;
}

struct LayerNorm final : Node {
  double eps;
  Saved x, gain, mean, rstd;
  explicit LayerNorm(double e) : eps(e) {}

  Tensor forward(const Tensor& in, const Tensor& gain_in, const Tensor& bias) {
    norm_shape(in.shape(), gain_in.shape(), bias.shape(), eps);
    const Tensor input = contiguous(in), gains = contiguous(gain_in);
    const Tensor biases = bias.defined() ? contiguous(bias) : bias;
    x = input;
    gain = gains;
    const std::int64_t columns = input.size(-1), rows = columns ? input.numel() / columns : 0;
    Tensor y = empty_like(input);
    with_float(input.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const Tensor m = empty({rows}, DTypeOf<Compute<T>>::value), r = empty_like(m);
      for_each_row(input.device(), rows,
                   NormRow<T>{y.data<T>(), input.data<T>(), gains.data<T>(),
                              biases.defined() ? biases.data<T>() : nullptr, m.data<Compute<T>>(),
                              r.data<Compute<T>>(), columns, eps});
      mean = m;
      rstd = r;
    });
    return y;
  }
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    const Tensor gy = contiguous(grads[0]);
    with_float(gy.dtype(), [&](auto zero) { backward_as<decltype(zero)>(gy, sink); });
  }
  template <class T>
  void backward_as(const Tensor& gy, GradSink& sink) {
    using C = Compute<T>;
    const std::int64_t columns = gy.size(-1), rows = columns ? gy.numel() / columns : 0;
    const T* input = x.get().data<T>();
    const C *m = mean.get().data<C>(), *r = rstd.get().data<C>();
    if (sink.wants(0)) {
      const Destination gx = sink.slot(0);
      for_each_row(gy.device(), rows,
                   NormGradRow<T>{gx.tensor.data<T>(), input, gy.data<T>(), gain.get().data<T>(), m,
                                  r, columns, gx.write});
    }
    if (sink.wants(1)) {
      const Destination out = sink.slot(1);
      sum_rows(gy.device(), out.tensor.data<T>(), rows, columns, out.write,
               GainTerm<T>{input, gy.data<T>(), m, r, columns});
    }
    if (sink.wants(2)) {
      const Destination out = sink.slot(2);
      sum_rows(gy.device(), out.tensor.data<T>(), rows, columns, out.write,
               BiasTerm<T>{gy.data<T>(), columns});
    }
  }
};

const OpEntry entry("layer_norm", "y = (x - mean) / sqrt(var + eps) gain + bias", &layer_norm,
                    norm_shape, {normal({3, 6}), normal({6}), normal({6}), 1e-5},
                    {{normal({2, 2, 5}), normal({5}), absent(), 1e-5}});

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps) {
  return apply(entry, LayerNorm{eps}, x, gain, bias);
}

}  // namespace skep
