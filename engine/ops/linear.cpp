// y = x Wᵀ + b, W stored (out, in). dx = dy W; dW = dyᵀ x; db = column sums of dy. The first
// gradient of W overwrites, later ones accumulate inside the product. In mixed precision x and W
// are narrow; b, dW and db are fp32, and y is narrow or fp32 as the caller wants.
#include "engine/backends/backend.h"
#include "engine/kernels/copy.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"
#include "engine/ops/sum_rows_into.h"

namespace skep {
namespace {

Shape linear_shape(const Shape& x, const Shape& weight, const Shape& bias, std::optional<DType>) {
  check(weight.rank() == 2 && x.rank() >= 1 && x[-1] == weight[1],
        "linear: input {} does not fit weight {}", x, weight);
  check(bias.rank() == 0 || bias == Shape{weight[0]}, "linear: bias {} does not fit weight {}",
        bias, weight);
  Shape y = x;
  y[-1] = weight[0];
  return y;
}

// (.., C) as rows (R, C); a copy only when strides forbid a view.
Tensor rows_of(const Tensor& t) {
  const Shape flat{t.size(-1) ? t.numel() / t.size(-1) : 0, t.size(-1)};
  return t.can_reshape(flat) ? t.reshaped(flat) : contiguous(t).reshaped(flat);
}

template <class T>
struct Element {
  const T* data;
  std::int64_t row_stride, column_stride;
  HD Compute<T> operator()(std::int64_t r, std::int64_t c) const {
    return static_cast<Compute<T>>(data[r * row_stride + c * column_stride]);
  }
};

struct Linear final : Node {
  static constexpr MixesTypes mixes_types = MixesTypes::yes;
  std::optional<DType> result;  // of y; absent: x's
  Saved x, weight;
  explicit Linear(std::optional<DType> r) : result(r) {}

  Tensor forward(const Tensor& x_in, const Tensor& weight_in, const Tensor& bias) {
    const Shape shape = linear_shape(x_in.shape(), weight_in.shape(), bias.shape(), result);
    check(x_in.dtype() == weight_in.dtype(),
          "input is {}, weight {}: they must share one type, cast one", name_of(x_in.dtype()),
          name_of(weight_in.dtype()));
    x = x_in;
    weight = weight_in;
    const DType compute = compute_type(x_in.dtype());
    check(!bias.defined() || bias.dtype() == compute || bias.dtype() == x_in.dtype(),
          "input is {}, bias {}: cast one", name_of(x_in.dtype()), name_of(bias.dtype()));
    Tensor y = empty(shape, result.value_or(x_in.dtype()), x_in.device());
    const Tensor bias_row = bias.defined() ? converted(contiguous(bias), compute) : bias;
    backend(y.device())
        .gemm(as_matrix(rows_of(x_in)), as_matrix(weight_in).transposed(), as_matrix(rows_of(y)),
              {.bias = bias.defined() ? bias_row.raw() : nullptr});
    return y;
  }
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    const Tensor given = rows_of(grads[0]), input = rows_of(x.get());
    const Tensor gy = converted(given, input.dtype());
    Backend& device = backend(gy.device());
    if (sink.wants(0)) {
      const Destination gx = sink.slot(0);
      device.gemm(as_matrix(gy), as_matrix(weight.get()), as_matrix(rows_of(gx.tensor)),
                  {.write = gx.write});
    }
    if (sink.wants(1)) {
      const Destination gw = sink.slot(1);
      device.gemm(as_matrix(gy).transposed(), as_matrix(input), as_matrix(gw.tensor),
                  {.write = gw.write});
    }
    if (sink.wants(2)) sum_bias(sink, given);
  }
  static void sum_bias(GradSink& sink, const Tensor& gy) {
    with_float(gy.dtype(), [&](auto zero) {
      using T = decltype(zero);
      using C = Compute<T>;
      const Element<T> element{gy.data<T>(), gy.strides()[0], gy.strides()[1]};
      sum_rows_into<C>(sink, 2, gy.size(0), gy.size(1), element);
    });
  }
};

const OpEntry entry("linear", "y = x W^T + b", &linear, linear_shape,
                    {normal({3, 4}), normal({5, 4}), normal({5}), std::nullopt},
                    {{normal({2, 3, 4}), normal({5, 4}), absent(), std::nullopt}});

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              std::optional<DType> result) {
  return apply(entry, Linear{result}, x, weight, bias);
}

}  // namespace skep
