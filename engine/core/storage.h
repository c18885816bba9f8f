#pragma once
// A block of memory shared by all views of a tensor. It counts writes (version), so that a node
// which saved a tensor for backward notices when somebody changed it since.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/core/device.h"

namespace skep {

class Storage {
 public:
  Storage(std::size_t bytes, Device device);
  /// On the host, where copies to and from `device` need no detour.
  static std::shared_ptr<Storage> staging(std::size_t bytes, Device device);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  /// A copy in the CPU's memory.
  std::shared_ptr<Storage> on_host() const;
  std::uint64_t version() const { return version_; }
  void bump_version() { ++version_; }

 private:
  Storage(std::byte* data, std::size_t bytes, Device device, Device crosses_to)
      : data_(data), bytes_(bytes), device_(device), crosses_to_(crosses_to) {}

  std::byte* data_;
  std::size_t bytes_;
  Device device_;
  Device crosses_to_ = device_;  // whose copies reach it: another one's than its own for staging
  std::uint64_t version_ = 0;
};

}  // namespace skep
