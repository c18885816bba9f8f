#pragma once
// This rank's part of a checkpoint, copied at one moment so that training can go on while it is
// written. Files that all ranks could write alike are cut into one range of bytes for each rank, on
// page boundaries: the files come out the same at any number of ranks.
#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "train/checkpoint/file_image.h"
#include "train/checkpoint/manifest.h"

namespace skep {

/// Consecutive bytes of a file.
struct Extent {
  std::string file;
  std::size_t begin;  ///< in the file
  std::size_t at;     ///< in the snapshot
  std::size_t bytes;

  bool operator==(const Extent&) const = default;
};

class Snapshot {
 public:
  /// Forgets the last one but keeps its memory.
  void clear();
  /// A whole file.
  void add(const FileImage& file);
  /// Rank `rank`'s range of the bytes of these files, laid end to end.
  void add_share(std::span<const FileImage> files, int rank, int ranks);

  const std::vector<Extent>& extents() const { return extents_; }
  bool empty() const { return extents_.empty(); }
  std::span<const std::byte> bytes() const { return std::span(buffer_).first(used_); }
  std::span<std::byte> bytes() { return std::span(buffer_).first(used_); }
  /// Becomes one of the same extents, whose bytes are yet to be filled in.
  void take_layout(const Snapshot& other);

  /// Writes all of it below `folder`, whose subfolders exist; returns when the disk has confirmed
  /// it. Error(storage), naming the file; also when `give_up` becomes true.
  WrittenFiles write(const std::string& folder, const std::atomic<bool>& give_up) const;

 private:
  void add_range(const FileImage& file, std::size_t begin, std::size_t end);

  std::vector<Extent> extents_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
};

}  // namespace skep
