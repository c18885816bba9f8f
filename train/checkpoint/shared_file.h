#pragma once
// A file written at given places, by several ranks at once if need be: nobody truncates it.
#include <span>
#include <string>

namespace skep {

class SharedFile {
 public:
  /// Creates it if it is not there. Error(storage), here and below.
  explicit SharedFile(std::string path);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  void write(std::span<const std::byte> bytes, std::size_t begin) const;
  /// Flushes it to the disk and closes it.
  void commit();

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace skep
