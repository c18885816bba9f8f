#include "engine/core/storage.h"

#include "engine/backends/backend.h"

namespace skep {

Storage::Storage(std::size_t bytes, Device device)
    : data_(static_cast<std::byte*>(backend(device).allocate(bytes))),
      bytes_(bytes),
      device_(device) {}

Storage::~Storage() { backend(device_).release(data_, bytes_); }

std::shared_ptr<Storage> Storage::on_host() const {
  auto copy = std::make_shared<Storage>(bytes_, Device{});
  backend(device_).copy_to_host(copy->data(), data_, bytes_);
  return copy;
}

}  // namespace skep
