#include "engine/core/storage.h"

#include "engine/backends/backend.h"

namespace skep {

Storage::Storage(std::size_t bytes, Device device)
    : data_(static_cast<std::byte*>(backend(device).allocate(bytes))),
      bytes_(bytes),
      device_(device) {}

std::shared_ptr<Storage> Storage::staging(std::size_t bytes, Device device) {
  void* data = backend(device).allocate_staging(bytes);
  return std::shared_ptr<Storage>(new Storage(static_cast<std::byte*>(data), bytes, {}, device));
}

Storage::~Storage() {
  if (crosses_to_ == device_) {
    backend(device_).release(data_, bytes_);
  } else {
    backend(crosses_to_).release_staging(data_, bytes_);
  }
}

std::shared_ptr<Storage> Storage::on_host() const {
  auto copy = std::make_shared<Storage>(bytes_, Device{});
  backend(device_).copy_to_host(copy->data(), data_, bytes_);
  return copy;
}

}  // namespace skep
