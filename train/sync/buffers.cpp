#include "train/sync/buffers.h"

#include <span>

namespace skep {

void broadcast_buffers(Module& model, Communicator& comm, const Route& route) {
  for (const Buffer* buffer : model.buffers()) {
    const Tensor& value = buffer->value;
    comm.broadcast(std::span(static_cast<std::byte*>(value.raw()), value.bytes()), 0, route);
    value.storage()->bump_version();
  }
}

void archive_buffers(Module& model, Archive& archive) {
  for (const Buffer* buffer : model.buffers())
    archive.field("buffer." + buffer->path, buffer->value);
}

}  // namespace skep
