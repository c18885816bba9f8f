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
  std::byte* data_;
  std::size_t bytes_;
  Device device_;
  std::uint64_t version_ = 0;
};

}  // namespace skep
