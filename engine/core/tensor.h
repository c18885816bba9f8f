#pragma once
// Tensor: a small value that says how to look at a shared block of memory. Copying a Tensor copies
// the look, not the elements. Ops are free functions in engine/ops/ops.h; this file knows only
// memory, shapes and views, and carries the slot in which autograd gathers the gradient.
#include <cstring>
#include <memory>
#include <vector>

#include "engine/core/dtype.h"
#include "engine/core/shape.h"
#include "engine/core/storage.h"

namespace skep {

struct GradSlot;

class Tensor {
 public:
  Tensor() = default;  ///< undefined: stands for an absent argument
  Tensor(std::shared_ptr<Storage> storage, Shape shape, Strides strides, std::int64_t offset,
         DType dtype)
      : storage_(std::move(storage)),
        shape_(shape),
        strides_(strides),
        offset_(offset),
        dtype_(dtype) {}

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  int rank() const { return shape_.rank(); }
  std::int64_t size(int dim) const { return shape_[dim]; }
  std::int64_t numel() const { return shape_.numel(); }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_->device(); }
  std::size_t bytes() const { return static_cast<std::size_t>(numel()) * size_of(dtype_); }
  bool is_contiguous() const;
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  std::int64_t offset() const { return offset_; }  ///< of the first element, in elements

  /// First element, wherever the view begins. The typed form checks the dtype.
  void* raw() const {
    return storage_->data() + offset_ * static_cast<std::int64_t>(size_of(dtype_));
  }
  template <class T>
  T* data() const {
    check(dtype_ == DTypeOf<T>::value, "tensor holds {}, asked for {}", name_of(dtype_),
          name_of(DTypeOf<T>::value));
    return static_cast<T*>(raw());
  }
  double item() const;  ///< the only element, as a double

  // Views share the storage and take no part in autograd (engine/ops has forms that do).
  Tensor with_layout(Shape shape, Strides strides, std::int64_t offset_from_here) const;
  Tensor reshaped(const Shape& shape) const;   ///< throws if it needs a copy
  bool can_reshape(const Shape& shape) const;  ///< true if a view is enough
  Tensor transposed(int a, int b) const;
  Tensor sliced(int dim, std::int64_t begin, std::int64_t length) const;
  Tensor expanded(const Shape& shape) const;  ///< broadcast by zero strides

  // Autograd. A slot exists when somebody wants the gradient of this tensor.
  bool wants_grad() const { return slot_ != nullptr; }
  const std::shared_ptr<GradSlot>& slot() const { return slot_; }
  void set_slot(std::shared_ptr<GradSlot> slot) { slot_ = std::move(slot); }

 private:
  std::shared_ptr<Storage> storage_;
  Shape shape_;
  Strides strides_;
  std::int64_t offset_ = 0;
  DType dtype_ = DType::f32;
  std::shared_ptr<GradSlot> slot_;
};

/// New contiguous tensor with unspecified elements.
Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = {});
inline Tensor empty_like(const Tensor& t) { return empty(t.shape(), t.dtype(), t.device()); }

/// New tensor on the CPU holding `values` in row-major order; their count must fit the shape.
template <class T>
Tensor tensor_of(const std::vector<T>& values, const Shape& shape) {
  check(static_cast<std::int64_t>(values.size()) == shape.numel(), "{} values for shape {}",
        values.size(), shape);
  Tensor t = empty(shape, DTypeOf<T>::value);
  if (!values.empty()) std::memcpy(t.raw(), values.data(), t.bytes());
  return t;
}

/// The elements in row-major order, converted to double, whatever the strides (for tests and
/// printing).
std::vector<double> to_doubles(const Tensor& t);

}  // namespace skep
