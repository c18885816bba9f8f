// y = a b over the last two dimensions; leading ones broadcast. da = dy bᵀ, db = aᵀ dy. Transposed
// and sliced operands are passed on as strides.
#include "engine/backends/backend.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

Shape batch_of(const Shape& s) {
  Shape batch;
  for (int i = 0; i < s.rank() - 2; ++i) batch.push_back(s[i]);
  return batch;
}

Shape product_shape(const Shape& a, const Shape& b) {
  check(a.rank() >= 2 && b.rank() >= 2, "matmul: shapes {} and {} need two dimensions each", a, b);
  check(a[-1] == b[-2], "matmul: inner sizes {} and {} differ in {} times {}", a[-1], b[-2], a, b);
  Shape out = broadcast_shape(batch_of(a), batch_of(b));
  out.push_back(a[-2]);
  out.push_back(b[-1]);
  return out;
}

Tensor with_batch(const Tensor& t, const Shape& batch) {
  Shape shape = batch;
  shape.push_back(t.size(-2));
  shape.push_back(t.size(-1));
  return t.expanded(shape);
}

// One gemm per batch index; y is contiguous.
void multiply(const Tensor& a, const Tensor& b, const Tensor& y) {
  const Shape batch = batch_of(y.shape());
  const Tensor a_all = with_batch(a, batch), b_all = with_batch(b, batch);
  // A walk over the batch dimensions: views of one element per matrix.
  auto corner = [&](const Tensor& t) {
    Strides strides;
    for (int i = 0; i < batch.rank(); ++i) strides.push_back(t.strides()[i]);
    return t.with_layout(batch, strides, 0);
  };
  const Tensor ca = corner(a_all), cb = corner(b_all), cy = corner(y);
  const LoopNest<3> nest = loop_nest<3>(batch, {&ca, &cb, &cy});
  const auto width = static_cast<std::int64_t>(size_of(y.dtype()));
  const Matrix ma = as_matrix(a_all), mb = as_matrix(b_all), my = as_matrix(y);
  auto moved = [width](Matrix m, std::int64_t elements) {
    m.data = static_cast<std::byte*>(m.data) + elements * width;
    return m;
  };
  const int last = nest.rank - 1;
  for_each_inner_loop(nest, [&](const std::array<std::int64_t, 3>& at) {
    for (std::int64_t i = 0; i < nest.size[last]; ++i)
      backend(y.device())
          .gemm(moved(ma, at[0] + i * nest.stride[0][last]),
                moved(mb, at[1] + i * nest.stride[1][last]),
                moved(my, at[2] + i * nest.stride[2][last]), {});
  });
}

struct MatMul final : Node {
  Saved a, b;

  Tensor forward(const Tensor& a_in, const Tensor& b_in) {
    a = a_in;
    b = b_in;
    return product(a_in, b_in);
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    if (sink.wants(0)) sink.give(0, product(gy[0], b.get().transposed(-2, -1)));
    if (sink.wants(1)) sink.give(1, product(a.get().transposed(-2, -1), gy[0]));
  }
  static Tensor product(const Tensor& x, const Tensor& z) {
    Tensor y = empty(product_shape(x.shape(), z.shape()), x.dtype(), x.device());
    multiply(x, z, y);
    return y;
  }
};

const OpEntry entry("matmul", "y = a b", &matmul, product_shape, {normal({3, 4}), normal({4, 5})},
                    {{normal({2, 3, 4}), normal({2, 4, 2})},
                     {normal({2, 1, 3, 4}), normal({5, 4, 2})}});

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) { return apply(entry, MatMul{}, a, b); }

}  // namespace skep
