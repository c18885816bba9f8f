// y = (x - μ) r · gain + bias, r = 1 / sqrt(variance + eps), over the last dimension (Ba et al.
// 2016). Two passes: the variance is the mean of (x - μ)², since E[x²] - E[x]² cancels. With
// h = (x - μ) r and d = dy · gain: dx = r (d - mean(d) - h mean(d h)); dgain = Σ dy h; dbias = Σ
// dy. In mixed precision x, gain and bias are fp32 and y is narrow: the next product's operand.
#include "engine/kernels/rows.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"
#include "engine/ops/sum_rows_into.h"

namespace skep {
namespace {

// T: of x and dx; U: of y and dy; C: in which both are computed.
template <class T, class U>
struct NormRow {
  using C = Compute<T>;
  U* out;
  const T* in;
  const C* gain;
  const C* bias;  // or null
  C* mean_out;
  C* rstd_out;
  std::int64_t columns;
  double eps;

  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    const T* x = in + row * columns;
    U* y = out + row * columns;
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
        y[i] = static_cast<U>((static_cast<C>(x[i]) - mean) * rstd * gain[i] + bias[i]);
      });
    } else {
      team.each(columns, [&](std::int64_t i) {
        y[i] = static_cast<U>((static_cast<C>(x[i]) - mean) * rstd * gain[i]);
      });
    }
  }
};

template <class T, class U>
struct NormGradRow {
  using C = Compute<T>;
  T* out;
  const T* in;
  const U* grad;
  const C* gain;
  const C* mean_in;
  const C* rstd_in;
  std::int64_t columns;
  Write write;

  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    const T* x = in + row * columns;
    const U* gy = grad + row * columns;
    T* gx = out + row * columns;
    const C mean = mean_in[row], rstd = rstd_in[row], n = static_cast<C>(columns);
    const C mean_d = team.template sum<C>(columns, [&](std::int64_t i) {
      return static_cast<C>(gy[i]) * gain[i];
    }) / n;
    const C mean_dh = team.template sum<C>(columns, [&](std::int64_t i) {
      return static_cast<C>(gy[i]) * gain[i] * ((static_cast<C>(x[i]) - mean) * rstd);
    }) / n;
    team.each(columns, [&](std::int64_t i) {
      const C d = static_cast<C>(gy[i]) * gain[i], h = (static_cast<C>(x[i]) - mean) * rstd;
      detail::store(gx[i], rstd * (d - mean_d - h * mean_dh), write);
    });
  }
};

template <class T, class U>
struct GainTerm {
  using C = Compute<T>;
  const T* x;
  const U* gy;
  const C* mean;
  const C* rstd;
  std::int64_t columns;
  HD C operator()(std::int64_t r, std::int64_t c) const {
    return static_cast<C>(gy[r * columns + c]) *
           ((static_cast<C>(x[r * columns + c]) - mean[r]) * rstd[r]);
  }
};
template <class U>
struct BiasTerm {
  const U* gy;
  std::int64_t columns;
  HD Compute<U> operator()(std::int64_t r, std::int64_t c) const {
    return static_cast<Compute<U>>(gy[r * columns + c]);
  }
};

Shape norm_shape(const Shape& x, const Shape& gain, const Shape& bias, double,
                 std::optional<DType>) {
  check(x.rank() >= 1 && gain.rank() == 1 && gain[0] == x[-1],
        "layer_norm: gain {} does not fit {}", gain, x);
  check(bias.rank() == 0 || bias == gain, "layer_norm: bias {} does not fit gain {}", bias, gain);
  return x;
}

struct LayerNorm final : Node {
  static constexpr MixesTypes mixes_types = MixesTypes::yes;
  double eps;
  std::optional<DType> result;  // of y; absent: x's
  Saved x, gain, mean, rstd;
  LayerNorm(double e, std::optional<DType> r) : eps(e), result(r) {}

  Tensor forward(const Tensor& in, const Tensor& gain_in, const Tensor& bias) {
    norm_shape(in.shape(), gain_in.shape(), bias.shape(), eps, result);
    const DType compute = compute_type(in.dtype());
    for (const Tensor* t : {&gain_in, &bias})
      check(!t->defined() || t->dtype() == compute || t->dtype() == in.dtype(),
            "input is {}, gain or bias {}: cast one", name_of(in.dtype()), name_of(t->dtype()));
    const Tensor input = contiguous(in), gains = converted(contiguous(gain_in), compute);
    const Tensor biases = bias.defined() ? converted(contiguous(bias), compute) : bias;
    const std::int64_t columns = input.size(-1), rows = columns ? input.numel() / columns : 0;
    const Tensor m = empty({rows}, compute, input.device()), r = empty_like(m);
    Tensor y = empty(input.shape(), result.value_or(input.dtype()), input.device());
    with_wide_and_narrow(input.dtype(), y.dtype(), [&](auto wide, auto narrow) {
      using T = decltype(wide);
      using U = decltype(narrow);
      using C = Compute<T>;
      for_each_row(input.device(), rows,
                   NormRow<T, U>{y.data<U>(), input.data<T>(), gains.data<C>(),
                                 biases.defined() ? biases.data<C>() : nullptr, m.data<C>(),
                                 r.data<C>(), columns, eps});
    });
    x = input, gain = gains, mean = m, rstd = r;
    return y;
  }
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    const Tensor gy = contiguous(grads[0]);
    with_wide_and_narrow(x.get().dtype(), gy.dtype(), [&](auto wide, auto narrow) {
      backward_as<decltype(wide), decltype(narrow)>(gy, sink);
    });
  }
  template <class T, class U>
  void backward_as(const Tensor& gy, GradSink& sink) {
    using C = Compute<T>;
    const std::int64_t columns = gy.size(-1), rows = columns ? gy.numel() / columns : 0;
    const T* input = x.get().data<T>();
    const C *m = mean.get().data<C>(), *r = rstd.get().data<C>();
    if (sink.wants(0)) {
      const Destination gx = sink.slot(0);
      for_each_row(gy.device(), rows,
                   NormGradRow<T, U>{gx.tensor.data<T>(), input, gy.data<U>(), gain.get().data<C>(),
                                     m, r, columns, gx.write});
    }
    if (sink.wants(1))
      sum_rows_into<C>(sink, 1, rows, columns, GainTerm<T, U>{input, gy.data<U>(), m, r, columns});
    if (sink.wants(2)) sum_rows_into<C>(sink, 2, rows, columns, BiasTerm<U>{gy.data<U>(), columns});
  }
};

const OpEntry entry("layer_norm", "y = (x - mean) / sqrt(var + eps) gain + bias", &layer_norm,
                    norm_shape, {normal({3, 6}), normal({6}), normal({6}), 1e-5, std::nullopt},
                    {{normal({2, 2, 5}), normal({5}), absent(), 1e-5, std::nullopt}});

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps,
                  std::optional<DType> result) {
  return apply(entry, LayerNorm{eps, result}, x, gain, bias);
}

}  // namespace skep
