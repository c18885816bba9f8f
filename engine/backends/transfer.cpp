#include "engine/backends/transfer.h"

#include "engine/backends/backend.h"
#include "engine/kernels/copy.h"

namespace skep {
namespace {

bool on_cpu(const Tensor& t) { return t.device().kind == Device::Kind::cpu; }

}  // namespace

// Whole blocks travel; strides are made and undone on either side.
void transfer(const Tensor& out, const Tensor& from) {
  check(out.dtype() == from.dtype(), "transfer: {} does not become {} on the way",
        name_of(from.dtype()), name_of(out.dtype()));
  if (out.device() == from.device()) return copy(out, from);
  check(on_cpu(out) || on_cpu(from), "transfer: between two GPUs");
  const bool adjacent = out.is_contiguous() && out.shape() == from.shape();
  const Tensor source = contiguous(from);
  const Tensor target = adjacent ? out : empty(from.shape(), from.dtype(), out.device());
  if (source.bytes() > 0) {
    if (on_cpu(out)) {
      backend(from.device()).copy_to_host(target.raw(), source.raw(), source.bytes());
    } else {
      backend(out.device()).copy_from_host(target.raw(), source.raw(), source.bytes());
    }
  }
  if (adjacent) {
    out.storage()->bump_version();
  } else {
    copy(out, target);
  }
}

Tensor to_device(const Tensor& t, Device device) {
  if (!t.defined() || t.device() == device) return t;
  Tensor out = empty(t.shape(), t.dtype(), device);
  transfer(out, t);
  return out;
}

}  // namespace skep
