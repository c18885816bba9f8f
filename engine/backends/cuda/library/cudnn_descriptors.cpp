#include "engine/backends/cuda/library/cudnn_descriptors.h"

#include <algorithm>
#include <utility>

#include "engine/core/error.h"

namespace skep::cuda::cudnn {

void check_status(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char text[1024] = "";
  cudnnGetLastErrorString(text, sizeof text);
  fail(ErrorKind::bug, "cuDNN, {}: {}: {}", what, cudnnGetErrorString(status), text);
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t kind) : kind_(kind) {
  check_status(cudnnBackendCreateDescriptor(kind, &handle_),
               fmt::format("creating a descriptor of kind {}", static_cast<int>(kind)));
}

Descriptor::~Descriptor() {
  if (handle_ != nullptr) cudnnBackendDestroyDescriptor(handle_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : kind_(other.kind_), handle_(std::exchange(other.handle_, nullptr)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(handle_, other.handle_);
  return *this;
}

Descriptor& Descriptor::finalize(std::string_view what) {
  check_status(cudnnBackendFinalize(handle_), what);
  return *this;
}

Descriptor& Descriptor::set_raw(cudnnBackendAttributeName_t name, int type, std::size_t count,
                                const void* values) {
  check_status(
      cudnnBackendSetAttribute(handle_, name, static_cast<cudnnBackendAttributeType_t>(type),
                               static_cast<std::int64_t>(count), values),
      fmt::format("setting attribute {}", static_cast<int>(name)));
  return *this;
}

std::size_t Descriptor::get_raw(cudnnBackendAttributeName_t name, int type, std::size_t room,
                                void* values) const {
  std::int64_t count = 0;
  check_status(
      cudnnBackendGetAttribute(handle_, name, static_cast<cudnnBackendAttributeType_t>(type),
                               static_cast<std::int64_t>(room), &count, values),
      fmt::format("reading attribute {}", static_cast<int>(name)));
  return static_cast<std::size_t>(count);
}

std::int64_t Descriptor::integer(cudnnBackendAttributeName_t name) const {
  const auto found = values<std::int64_t>(name, 1);
  check(found.size() == 1, "cuDNN: attribute {} has no value", static_cast<int>(name));
  return found[0];
}

std::vector<Descriptor> Descriptor::children(cudnnBackendAttributeName_t name,
                                             cudnnBackendDescriptorType_t kind,
                                             std::size_t most) const {
  // cuDNN fills descriptors of ours, and tells how many there are.
  std::vector<Descriptor> found;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::size_t i = 0; i < most; ++i) handles.push_back(found.emplace_back(kind).get());
  const std::size_t filled = get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, handles.data());
  found.erase(found.begin() + static_cast<std::ptrdiff_t>(std::min(filled, most)), found.end());
  return found;
}

}  // namespace skep::cuda::cudnn
