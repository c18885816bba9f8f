#include "train/checkpoint/snapshot.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "train/checkpoint/shared_file.h"
#include "train/hash.h"

namespace skep {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t chunk_bytes = std::size_t{16} << 20;  // between two looks at give_up

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

void Snapshot::take_layout(const Snapshot& other) {
  extents_ = other.extents_;
  used_ = other.used_;
  if (buffer_.size() < used_) buffer_.resize(used_);
}

WrittenFiles Snapshot::write(const std::string& folder, const std::atomic<bool>& give_up) const {
  WrittenFiles written;
  std::set<std::string> folders{folder};
  for (const Extent& extent : extents_) {
    const std::string path = folder + "/" + extent.file;
    const auto bytes = this->bytes().subspan(extent.at, extent.bytes);
    SharedFile file(path);
    for (std::size_t done = 0; done < bytes.size(); done += chunk_bytes) {
      if (give_up) fail(ErrorKind::storage, "{}: the run ends before it is written", path);
      file.write(bytes.subspan(done, std::min(chunk_bytes, bytes.size() - done)),
                 extent.begin + done);
    }
    file.commit();
    folders.insert(std::filesystem::path(path).parent_path().string());
    written.parts.push_back({extent.file, extent.begin, extent.bytes, hash_bytes(bytes)});
  }
  for (const std::string& each : folders) sync_directory(each);
  return written;
}

}  // namespace skep
