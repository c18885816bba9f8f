#pragma once
// Files as the rest of the program needs them: read whole, mapped read-only, and written so that a
// reader sees either the old contents or the new ones. Reading problems are Error(data), writing
// problems Error(storage); both name the path and the system's reason in one line.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skep {

/// The bytes of a regular file. Throws Error(data) when it is missing, a directory or unreadable.
std::string read_file(const std::string& path);

/// A regular file mapped read-only for the lifetime of this object; empty files are fine.
/// Throws Error(data) when it is missing, a directory or unreadable.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_bytes_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

/// Writes `path` all or nothing: the bytes go to a temporary file in the same folder, and commit()
/// flushes it to the disk and renames it into place. Every step is checked and throws
/// Error(storage). Without a successful commit the temporary file is removed and `path` untouched.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  void flush();
  void write_out(std::span<const std::byte> bytes);
  [[noreturn]] void give_up(std::string_view what, int error_number);
  void discard();

  std::string path_;
  std::string temporary_;
  std::string buffer_;
  int descriptor_ = -1;
};

/// Replaces the contents of `path` in one AtomicFile. Throws Error(storage).
void write_file(const std::string& path, std::string_view text);

/// Creates `path` and its missing parents. Throws Error(storage) naming the component in the way.
void make_directories(const std::string& path);

/// `path`, made absolute, or the nearest folder above it that exists.
std::string nearest_existing(const std::string& path);

/// Bytes that can still be written where `path` is or will be made; nothing where the file system
/// does not tell.
std::optional<double> free_bytes(const std::string& path);

/// The system's reason and, where there is one, the remedy: "No space left on device; make room
/// there or write to another disk".
std::string describe_write_error(int error_number);

/// Moves these entries of `folder` into FOLDER/previous-K, K the first number that is free; nothing
/// happens when none exists. Returns that subfolder, or nothing. Throws Error(storage), with all of
/// them back where they were.
std::string move_to_previous(const std::string& folder, const std::vector<std::string>& names);

/// Flushes a directory's entries to the disk, so that files renamed into it survive a power cut.
/// Throws Error(storage).
void sync_directory(const std::string& path);

}  // namespace skep
