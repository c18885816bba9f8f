#include "engine/autograd/grad_slot.h"

namespace skep {

Tensor with_grad(Tensor t) {
  auto slot = std::make_shared<GradSlot>();
  slot->shape = t.shape();
  slot->dtype = t.dtype();
  slot->device = t.device();
  t.set_slot(std::move(slot));
  return t;
}

Tensor grad_of(const Tensor& t) {
  return t.wants_grad() && t.slot()->written ? t.slot()->value : Tensor{};
}

}  // namespace skep
