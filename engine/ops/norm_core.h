#pragma once
// What layer_norm and residual_norm share: rows of y = (x - μ) r · gain + bias with
// r = 1 / sqrt(variance + eps) (Ba et al. 2016), and their gradients. Two passes: the variance is
// the mean of (x - μ)², since E[x²] - E[x]² cancels. With h = (x - μ) r and d = dy · gain: dx = r
// (d - mean(d) - h mean(d h)); dgain = Σ dy h; dbias = Σ dy. In mixed precision x, gain and bias
// are fp32 and y is narrow: the next product's operand.
#include <optional>

#include "engine/kernels/rows.h"
#include "engine/ops/sum_rows_into.h"

namespace skep::detail {

/// What happens to a row before it is normalised: nothing, or it becomes a sum.
struct AsItIs {
  template <class Team>
  HD void operator()(const Team&, std::int64_t) const {}
};
template <class T>
struct AddRow {
  T* out;
  const T* a;
  const T* b;
  std::int64_t columns;

  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    const std::int64_t first = row * columns;
    team.each(columns, [&](std::int64_t i) {
      out[first + i] = static_cast<T>(static_cast<Compute<T>>(a[first + i]) +
                                      static_cast<Compute<T>>(b[first + i]));
    });
  }
};

// T: of x and dx; U: of y and dy; C: in which both are computed.
template <class T, class U, class Before>
struct NormRow {
  using C = Compute<T>;
  Before before;
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
    before(team, row);
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

// With a residual the sum's own gradient is added: dx = residual + the norm's.
template <class T, class U>
struct NormGradRow {
  using C = Compute<T>;
  T* out;
  const T* in;
  const U* grad;
  const C* gain;
  const C* mean_in;
  const C* rstd_in;
  const T* residual;  // or null
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
    const auto through_norm = [&](std::int64_t i) {
      const C d = static_cast<C>(gy[i]) * gain[i], h = (static_cast<C>(x[i]) - mean) * rstd;
      return rstd * (d - mean_d - h * mean_dh);
    };
    if (residual) {
      const T* past = residual + row * columns;
      team.each(columns, [&](std::int64_t i) {
        gx[i] = static_cast<T>(static_cast<C>(past[i]) + through_norm(i));
      });
    } else {
      team.each(columns, [&](std::int64_t i) { store(gx[i], through_norm(i), write); });
    }
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

inline void check_norm_shapes(const Shape& x, const Shape& gain, const Shape& bias) {
  check(x.rank() >= 1 && gain.rank() == 1 && gain[0] == x[-1], "gain {} does not fit {}", gain, x);
  check(bias.rank() == 0 || bias == gain, "bias {} does not fit gain {}", bias, gain);
}

/// The normalisation inside a node: what it saves and how it goes back.
struct NormCore {
  double eps;
  std::optional<DType> result;  // of y; absent: x's
  Saved x, gain, mean, rstd;

  /// y from `rows` (contiguous), which `before(type)` may still have to fill.
  template <class Before>
  Tensor forward(const Tensor& rows_in, const Tensor& gain_in, const Tensor& bias, Before before) {
    const DType compute = compute_type(rows_in.dtype());
    for (const Tensor* t : {&gain_in, &bias})
      check(!t->defined() || t->dtype() == compute || t->dtype() == rows_in.dtype(),
            "input is {}, gain or bias {}: cast one", name_of(rows_in.dtype()),
            name_of(t->dtype()));
    const Tensor gains = converted(contiguous(gain_in), compute);
    const Tensor biases = bias.defined() ? converted(contiguous(bias), compute) : bias;
    const std::int64_t columns = rows_in.size(-1), rows = columns ? rows_in.numel() / columns : 0;
    const Tensor m = empty({rows}, compute, rows_in.device()), r = empty_like(m);
    Tensor y = empty(rows_in.shape(), result.value_or(rows_in.dtype()), rows_in.device());
    with_wide_and_narrow(rows_in.dtype(), y.dtype(), [&](auto wide, auto narrow) {
      using T = decltype(wide);
      using U = decltype(narrow);
      using C = Compute<T>;
      const auto first = before(wide);
      for_each_row(rows_in.device(), rows,
                   NormRow<T, U, std::decay_t<decltype(first)>>{
                       first, y.data<U>(), rows_in.data<T>(), gains.data<C>(),
                       biases.defined() ? biases.data<C>() : nullptr, m.data<C>(), r.data<C>(),
                       columns, eps});
    });
    x = rows_in, gain = gains, mean = m, rstd = r;
    return y;
  }

  /// The gradient of the normalised rows from `gy`; `residual`, if defined, is added (and then the
  /// destination is overwritten).
  void input_gradient(const Tensor& gy, const Tensor& residual, const Destination& gx) const {
    with_wide_and_narrow(x.get().dtype(), gy.dtype(), [&](auto wide, auto narrow) {
      using T = decltype(wide);
      using U = decltype(narrow);
      using C = Compute<T>;
      const std::int64_t columns = gy.size(-1), rows = columns ? gy.numel() / columns : 0;
      for_each_row(
          gy.device(), rows,
          NormGradRow<T, U>{gx.tensor.data<T>(), x.get().data<T>(), gy.data<U>(),
                            gain.get().data<C>(), mean.get().data<C>(), rstd.get().data<C>(),
                            residual.defined() ? residual.data<T>() : nullptr, columns, gx.write});
    });
  }

  /// Gradients of gain (input `first` of the node) and bias (the next).
  void parameter_gradients(const Tensor& gy, GradSink& sink, int first) const {
    with_wide_and_narrow(x.get().dtype(), gy.dtype(), [&](auto wide, auto narrow) {
      using T = decltype(wide);
      using U = decltype(narrow);
      using C = Compute<T>;
      const std::int64_t columns = gy.size(-1), rows = columns ? gy.numel() / columns : 0;
      if (sink.wants(first))
        sum_rows_into<C>(sink, first, rows, columns,
                         GainTerm<T, U>{x.get().data<T>(), gy.data<U>(), mean.get().data<C>(),
                                        rstd.get().data<C>(), columns});
      if (sink.wants(first + 1))
        sum_rows_into<C>(sink, first + 1, rows, columns, BiasTerm<U>{gy.data<U>(), columns});
    });
  }
};

}  // namespace skep::detail
