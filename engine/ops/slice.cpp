// A range of one dimension: a view. The gradient is zero outside it.
#include "engine/kernels/copy.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

struct Slice final : Node {
  int dim;
  std::int64_t begin, length;
  Slice(int d, std::int64_t b, std::int64_t n) : dim(d), begin(b), length(n) {}

  Tensor forward(const Tensor& x) { return x.sliced(dim, begin, length); }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    const Destination out = sink.slot(0);
    const std::int64_t end = begin + length;
    if (out.write == Write::overwrite) {
      fill(out.tensor.sliced(dim, 0, begin), 0);
      fill(out.tensor.sliced(dim, end, out.tensor.size(dim) - end), 0);
    }
    add_into({out.tensor.sliced(dim, begin, length), out.write},
             converted(gy[0], out.tensor.dtype()));
  }
};

Shape slice_shape(const Shape& x, int dim, std::int64_t, std::int64_t length) {
  Shape y = x;
  y[dim] = length;
  return y;
}

const OpEntry entry("slice", "y = x[.., begin : begin + length, ..]", &slice, slice_shape,
                    {normal({3, 5}), 1, std::int64_t{1}, std::int64_t{3}},
                    {{normal({4, 2, 2}), 0, std::int64_t{0}, std::int64_t{2}}});

}  // namespace

Tensor slice(const Tensor& x, int dim, std::int64_t begin, std::int64_t length) {
  return apply(entry, Slice{dim, begin, length}, x);
}

}  // namespace skep
