#pragma once
// Tensors between the memories of devices.
#include <memory>
#include <vector>

#include "engine/backends/crossing.h"
#include "engine/core/tensor.h"

namespace skep {

/// out = from, of one type, for any strides (broadcasting `from`); one of them is on the CPU. Done
/// when it returns.
void transfer(const Tensor& out, const Tensor& from);

/// Zeros on the host, where copies to and from `device` need no detour.
Tensor staging(const Shape& shape, DType dtype, Device device);

/// As transfer(), between adjacent elements of one shape, beside other work: later work of the
/// device sees what it is sent, the host what it is brought once the crossing is done. Until then
/// both are left alone.
std::unique_ptr<Crossing> start_transfer(const Tensor& out, const Tensor& from);

/// A small tensor on its way to the host: values() waits for what was computed before this object
/// was made, not for what was asked of the device since. The tensor must not change until then.
class PendingValues {
 public:
  explicit PendingValues(const Tensor& t);
  ~PendingValues();
  PendingValues(const PendingValues&) = delete;
  PendingValues& operator=(const PendingValues&) = delete;
  std::vector<double> values();
  double value();  ///< the only one

 private:
  Tensor there_, host_;  // kept until the crossing is done
  std::unique_ptr<Crossing> crossing_;
};

/// The same values in the memory of `device`; `t` itself when they are there.
Tensor to_device(const Tensor& t, Device device);

}  // namespace skep
