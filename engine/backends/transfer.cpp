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

Tensor staging(const Shape& shape, DType dtype, Device device) {
  const std::size_t bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  Tensor t(Storage::staging(bytes, device), shape, contiguous_strides(shape), 0, dtype);
  fill(t, 0);
  return t;
}

std::unique_ptr<Crossing> start_transfer(const Tensor& out, const Tensor& from) {
  check(out.dtype() == from.dtype() && out.shape() == from.shape() && out.is_contiguous() &&
            from.is_contiguous(),
        "transfer: {} {} does not cross to {} {} as it is", name_of(from.dtype()), from.shape(),
        name_of(out.dtype()), out.shape());
  check(on_cpu(out) || on_cpu(from), "transfer: between two GPUs");
  out.storage()->bump_version();
  if (on_cpu(out))
    return backend(from.device()).start_copy_to_host(out.raw(), from.raw(), out.bytes());
  return backend(out.device()).start_copy_from_host(out.raw(), from.raw(), out.bytes());
}

PendingValues::PendingValues(const Tensor& t)
    : there_(contiguous(t)),
      host_(staging(t.shape(), t.dtype(), t.device())),
      crossing_(start_transfer(host_, there_)) {}

PendingValues::~PendingValues() { crossing_->wait(); }

std::vector<double> PendingValues::values() {
  crossing_->wait();
  return to_doubles(host_);
}

double PendingValues::value() {
  crossing_->wait();
  return host_.item();
}

Tensor to_device(const Tensor& t, Device device) {
  if (!t.defined() || t.device() == device) return t;
  Tensor out = empty(t.shape(), t.dtype(), device);
  transfer(out, t);
  return out;
}

}  // namespace skep
