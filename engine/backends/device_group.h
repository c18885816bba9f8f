#pragma once
// GPUs of several ranks that sum with each other, without the host between: NCCL.
#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "engine/core/tensor.h"

namespace skep {

/// A sum under way on a device.
class DeviceSum {
 public:
  virtual ~DeviceSum() = default;
  /// Later work of the device waits for it; the host does not.
  virtual void hold_back() = 0;
};

class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;
  /// Sums a flat fp32 tensor over the ranks, in place: after all that was asked of the device so
  /// far, and beside what is asked of it later. The same calls in the same order on every rank.
  virtual std::unique_ptr<DeviceSum> start_sum(const Tensor& part) = 0;
};

/// By which the ranks of a group find each other: made by one of them, told to the others.
using DeviceGroupId = std::array<std::byte, 128>;
DeviceGroupId make_group_id(Device device);

/// Returns when all ranks have joined, each with a device of its own.
std::unique_ptr<DeviceGroup> join_group(Device device, const DeviceGroupId& id, int rank, int size);

/// Why there are no groups with this device; empty when there are.
std::string why_no_groups(Device device);

}  // namespace skep
