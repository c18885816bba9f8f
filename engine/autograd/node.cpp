#include "engine/autograd/node.h"

#include "engine/kernels/copy.h"
#include "engine/kernels/reduce.h"

namespace skep {

const Tensor& Saved::get() const {
  if (tensor_.defined())
    check(tensor_.storage()->version() == version_,
          "a tensor of shape {} saved for backward was changed in place (version {}, now {}): copy "
          "it before "
          "changing it",
          tensor_.shape(), version_, tensor_.storage()->version());
  return tensor_;
}

bool GradSink::wants(int input) const { return node_.inputs[input] != nullptr; }

Destination GradSink::slot(int input) {
  GradSlot& slot = *node_.inputs[input];
  if (!slot.written) {
    if (!slot.bound) slot.value = empty(slot.shape, slot.dtype, slot.device);
    slot.written = true;
    return {slot.value, Write::overwrite};
  }
  // An adopted gradient may be shared with another slot, or be a view: adding needs its own memory.
  if (!slot.bound && (slot.value.storage().use_count() > 1 || !slot.value.is_contiguous())) {
    Tensor own = empty(slot.shape, slot.dtype, slot.device);
    copy(own, slot.value);
    slot.value = own;
  }
  return {slot.value, Write::accumulate};
}

void GradSink::give(int input, const Tensor& grad) {
  if (!wants(input)) return;
  GradSlot& slot = *node_.inputs[input];
  if (!(grad.shape() == slot.shape)) return sum_to(this->slot(input), grad);
  if (!slot.written && !slot.bound && grad.dtype() == slot.dtype) {
    slot.value = grad;
    slot.value.set_slot(nullptr);
    slot.written = true;
    return;
  }
  add_into(this->slot(input), converted(grad, slot.dtype));
}

}  // namespace skep
