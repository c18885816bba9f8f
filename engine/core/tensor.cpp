#include "engine/core/tensor.h"

namespace skep {

bool Tensor::is_contiguous() const {
  std::int64_t step = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape_[i] != 1 && strides_[i] != step) return false;
    step *= shape_[i];
  }
  return true;
}

double Tensor::item() const {
  check(defined() && numel() == 1, "item() needs exactly one element, shape is {}", shape_);
  return to_doubles(*this)[0];
}

Tensor Tensor::with_layout(Shape shape, Strides strides, std::int64_t offset_from_here) const {
  return Tensor(storage_, shape, strides, offset_ + offset_from_here, dtype_);
}

namespace {

// Strides under which the elements of (shape, strides) appear in `target` in the same order; false
// when no strides do. Dimensions of `shape` that lie together in memory are merged, then cut anew.
bool view_strides(const Shape& shape, const Strides& strides, const Shape& target, Strides& out) {
  out = contiguous_strides(target);
  if (target.numel() == 0) return true;
  int t = target.rank() - 1;
  for (int s = shape.rank() - 1; s >= 0;) {
    std::int64_t run = shape[s], step = strides[s];
    int next = s - 1;
    while (next >= 0 && (shape[next] == 1 || run == 1 || strides[next] == step * run)) {
      if (run == 1) step = strides[next];
      run *= shape[next--];
    }
    std::int64_t covered = 1;
    while (t >= 0 && covered < run) {
      out[t] = step * covered;
      covered *= target[t--];
    }
    if (covered != run) return false;
    s = next;
  }
  for (; t >= 0; --t)
    if (target[t] != 1) return false;
  return true;
}

}  // namespace

bool Tensor::can_reshape(const Shape& shape) const {
  Strides strides;
  return shape.numel() == numel() && view_strides(shape_, strides_, shape, strides);
}

Tensor Tensor::reshaped(const Shape& shape) const {
  check(shape.numel() == numel(), "cannot reshape {} to {}: {} elements against {}", shape_, shape,
        numel(), shape.numel());
  Strides strides;
  check(view_strides(shape_, strides_, shape, strides), "reshape of {} to {} needs a copy", shape_,
        shape);
  return with_layout(shape, strides, 0);
}

Tensor Tensor::transposed(int a, int b) const {
  Shape shape = shape_;
  Strides strides = strides_;
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return with_layout(shape, strides, 0);
}

Tensor Tensor::sliced(int dim, std::int64_t begin, std::int64_t length) const {
  dim = shape_.wrap(dim);
  check(begin >= 0 && length >= 0 && begin + length <= shape_[dim],
        "slice [{}, {}) of dimension {} in {}", begin, begin + length, dim, shape_);
  Shape shape = shape_;
  shape[dim] = length;
  return with_layout(shape, strides_, begin * strides_[dim]);
}

Tensor Tensor::expanded(const Shape& shape) const {
  check(broadcast_shape(shape_, shape) == shape, "cannot expand {} to {}", shape_, shape);
  Strides strides = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    const int mine = i - (shape.rank() - rank());
    strides[i] = mine < 0 || (shape_[mine] == 1 && shape[i] != 1) ? 0 : strides_[mine];
  }
  return with_layout(shape, strides, 0);
}

Tensor empty(const Shape& shape, DType dtype, Device device) {
  auto storage =
      std::make_shared<Storage>(static_cast<std::size_t>(shape.numel()) * size_of(dtype), device);
  return Tensor(std::move(storage), shape, contiguous_strides(shape), 0, dtype);
}

std::vector<double> to_doubles(const Tensor& given) {
  Tensor t = given;
  if (t.device().kind != Device::Kind::cpu)
    t = Tensor(t.storage()->on_host(), t.shape(), t.strides(), t.offset(), t.dtype());
  std::vector<double> out;
  out.reserve(t.numel());
  Shape at = t.shape();
  for (int i = 0; i < at.rank(); ++i) at[i] = 0;
  for (std::int64_t n = 0; n < t.numel(); ++n) {
    std::int64_t offset = 0;
    for (int i = 0; i < at.rank(); ++i) offset += at[i] * t.strides()[i];
    if (t.dtype() == DType::i32) {
      out.push_back(t.data<std::int32_t>()[offset]);
    } else {
      with_float(t.dtype(), [&](auto zero) {
        using T = decltype(zero);
        out.push_back(static_cast<Compute<T>>(t.data<T>()[offset]));
      });
    }
    for (int i = at.rank() - 1; i >= 0 && ++at[i] == t.size(i); --i) at[i] = 0;
  }
  return out;
}

}  // namespace skep
