#include "train/checkpoint/shared_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/files.h"

namespace skep {
namespace {

[[noreturn]] void cannot_write(const std::string& path, std::string_view what, int error_number) {
  const std::string advice =
      error_number == ENOENT ? "; checkpoint.dir must be a folder that all ranks share" : "";
  fail(ErrorKind::storage, "cannot write {}: {}: {}{}", path, what,
       describe_write_error(error_number), advice);
}

}  // namespace

SharedFile::SharedFile(std::string path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) cannot_write(path_, "open", errno);
}

SharedFile::~SharedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SharedFile::write(std::span<const std::byte> bytes, std::size_t begin) const {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(begin));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_write(path_, "write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    begin += static_cast<std::size_t>(count);
  }
}

void SharedFile::commit() {
  if (::fsync(descriptor_) != 0) cannot_write(path_, "flush to the disk", errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) cannot_write(path_, "close", errno);
}

}  // namespace skep
