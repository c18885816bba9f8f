#include "train/checkpoint/snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <set>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "train/hash.h"

namespace skep {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t chunk_bytes = std::size_t{16} << 20;  // between two looks at give_up

[[noreturn]] void cannot_write(const std::string& path, std::string_view what, int error_number) {
  const std::string advice =
      error_number == ENOENT ? "; checkpoint.dir must be a folder that all ranks share" : "";
  fail(ErrorKind::storage, "cannot write {}: {}: {}{}", path, what,
       describe_write_error(error_number), advice);
}

// A descriptor of a file that other ranks write too: nobody truncates it.
class SharedFile {
 public:
  explicit SharedFile(std::string path)
      : path_(std::move(path)),
        descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) cannot_write(path_, "open", errno);
  }
  ~SharedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  void write(std::span<const std::byte> bytes, std::size_t begin) const {
    while (!bytes.empty()) {
      const ssize_t count =
          ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(begin));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) cannot_write(path_, "write", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      begin += static_cast<std::size_t>(count);
    }
  }
  void commit() {
    if (::fsync(descriptor_) != 0) cannot_write(path_, "flush to the disk", errno);
    if (::close(std::exchange(descriptor_, -1)) != 0) cannot_write(path_, "close", errno);
  }

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace

void Snapshot::clear() {
  extents_.clear();
  used_ = 0;
}

void Snapshot::add(const FileImage& file) { add_range(file, 0, file.bytes()); }

void Snapshot::add_share(std::span<const FileImage> files, int rank, int ranks) {
  const auto total =
      std::accumulate(files.begin(), files.end(), std::size_t{0},
                      [](std::size_t sum, const FileImage& file) { return sum + file.bytes(); });
  const auto parts = static_cast<std::size_t>(ranks), part = static_cast<std::size_t>(rank);
  const std::size_t share = (total / parts / page_bytes + 1) * page_bytes;
  const std::size_t begin = part * share, end = begin + share;
  std::size_t at = 0;
  for (const FileImage& file : files) {
    // Cuts on pages of the file: two machines that write one page may lose each other's half.
    const auto cut = [&](std::size_t where) {
      if (where <= at) return std::size_t{0};
      return std::min((where - at + page_bytes - 1) / page_bytes * page_bytes, file.bytes());
    };
    add_range(file, cut(begin), cut(end));
    at += file.bytes();
  }
}

void Snapshot::add_range(const FileImage& file, std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  extents_.push_back({file.name(), begin, used_, end - begin});
  used_ += end - begin;
  if (buffer_.size() < used_) buffer_.resize(used_);
  file.copy(begin, std::span(buffer_).subspan(extents_.back().at, end - begin));
}

std::vector<WrittenPart> Snapshot::write(const std::string& folder,
                                         const std::atomic<bool>& give_up) const {
  std::vector<WrittenPart> parts;
  std::set<std::string> folders{folder};
  for (const Extent& extent : extents_) {
    const std::string path = folder + "/" + extent.file;
    const auto bytes = std::span(buffer_).subspan(extent.at, extent.bytes);
    SharedFile file(path);
    for (std::size_t done = 0; done < bytes.size(); done += chunk_bytes) {
      if (give_up) fail(ErrorKind::storage, "{}: the run ends before it is written", path);
      file.write(bytes.subspan(done, std::min(chunk_bytes, bytes.size() - done)),
                 extent.begin + done);
    }
    file.commit();
    folders.insert(std::filesystem::path(path).parent_path().string());
    parts.push_back({extent.file, extent.begin, extent.bytes, hash_bytes(bytes)});
  }
  for (const std::string& each : folders) sync_directory(each);
  return parts;
}

}  // namespace skep
