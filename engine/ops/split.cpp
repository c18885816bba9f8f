// Equal parts of one dimension: views. Their gradients are laid side by side again.
#include "engine/kernels/copy.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

std::vector<Shape> split_shapes(const Shape& x, int dim, std::int64_t parts) {
  check(parts > 0 && x[dim] % parts == 0, "split: dimension {} of {} is no multiple of {}", dim, x,
        parts);
  Shape part = x;
  part[dim] /= parts;
  return std::vector<Shape>(parts, part);
}

struct Split final : Node {
  int dim;
  std::int64_t parts;
  Split(int d, std::int64_t n) : dim(d), parts(n) {}

  std::vector<Tensor> forward(const Tensor& x) {
    split_shapes(x.shape(), dim, parts);
    std::vector<Tensor> views;
    for (std::int64_t i = 0; i < parts; ++i) views.push_back(part(x, i));
    return views;
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    const Destination out = sink.slot(0);
    for (std::int64_t i = 0; i < parts; ++i) {
      if (gy[i].defined()) {
        add_into({part(out.tensor, i), out.write}, gy[i]);
      } else if (out.write == Write::overwrite) {
        fill(part(out.tensor, i), 0);
      }
    }
  }
  Tensor part(const Tensor& x, std::int64_t i) const {
    const std::int64_t n = x.size(dim) / parts;
    return x.sliced(dim, i * n, n);
  }
};

const OpEntry entry("split", "y_1, .., y_n = equal parts of x", &split, split_shapes,
                    {normal({2, 6}), 1, std::int64_t{3}}, {{normal({4, 3}), 0, std::int64_t{2}}});

}  // namespace

std::vector<Tensor> split(const Tensor& x, int dim, std::int64_t parts) {
  return apply(entry, Split{dim, parts}, x);
}

}  // namespace skep
