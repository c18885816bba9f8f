// POSIX calls, each one checked. `fwrite` and `ofstream` report success until a flush that nobody
// looks at; write(2), fsync(2) and close(2) say what happened.
#include "engine/core/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "engine/core/error.h"

namespace skep {
namespace {

constexpr std::size_t buffer_bytes = 1 << 20;

/// A descriptor that closes itself; for reading, where close cannot lose anything.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

[[noreturn]] void cannot_read(const std::string& path, int error_number) {
  fail(ErrorKind::data, "cannot read {}: {}", path, std::strerror(error_number));
}

/// Opens a regular file and reports its size.
int open_regular(const std::string& path, std::size_t& size_bytes) {
  // O_NONBLOCK: opening a pipe without a writer must not hang before it is refused below.
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) cannot_read(path, errno);
  struct stat status {};
  const int stat_error = ::fstat(number, &status) == 0 ? 0 : errno;
  if (stat_error == 0 && S_ISREG(status.st_mode)) {
    size_bytes = static_cast<std::size_t>(status.st_size);
    return number;
  }
  ::close(number);
  if (stat_error != 0) cannot_read(path, stat_error);
  if (S_ISDIR(status.st_mode))
    fail(ErrorKind::data, "cannot read {}: it is a directory; name a file", path);
  fail(ErrorKind::data, "cannot read {}: it is not a regular file", path);
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::size_t size_bytes = 0;
  const Descriptor file{open_regular(path, size_bytes)};
  std::string text(size_bytes, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::read(file.number, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_read(path, errno);
    if (count == 0) fail(ErrorKind::data, "cannot read {}: it shrank while it was read", path);
    done += static_cast<std::size_t>(count);
  }
  return text;
}

MappedFile::MappedFile(const std::string& path) {
  std::size_t size_bytes = 0;
  const Descriptor file{open_regular(path, size_bytes)};
  if (size_bytes == 0) return;  // mmap refuses a length of 0
  void* address = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (address == MAP_FAILED) cannot_read(path, errno);
  data_ = static_cast<const std::byte*>(address);
  size_bytes_ = size_bytes;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_bytes_);
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    fail(ErrorKind::storage, "cannot write {}: it exists and is {}", path_,
         S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
  std::random_device entropy;
  const std::string temporary = fmt::format("{}.tmp-{:08x}{:08x}", path_, entropy(), entropy());
  descriptor_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) give_up("create a temporary file beside it", errno);
  temporary_ = temporary;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(std::span<const std::byte> bytes) {
  check(descriptor_ >= 0, "AtomicFile: write to {} after commit or failure", path_);
  if (buffer_.size() + bytes.size() > buffer_bytes) flush();
  if (bytes.size() >= buffer_bytes) return write_out(bytes);
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void AtomicFile::flush() {
  write_out(std::as_bytes(std::span(buffer_)));
  buffer_.clear();
}

void AtomicFile::write_out(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) give_up("write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::commit() {
  check(descriptor_ >= 0, "AtomicFile: commit of {} after commit or failure", path_);
  flush();
  if (::fsync(descriptor_) != 0) give_up("flush to the disk", errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) give_up("close", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) give_up("rename into place", errno);
  temporary_.clear();
  sync_directory(folder_of(path_));
}

void AtomicFile::give_up(std::string_view what, int error_number) {
  discard();
  fail(ErrorKind::storage, "cannot write {}: {}: {}", path_, what,
       describe_write_error(error_number));
}

void AtomicFile::discard() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void make_directories(const std::string& path) {
  std::filesystem::path so_far;
  for (const auto& part : std::filesystem::path(path)) {
    so_far /= part;
    const int error_number = ::mkdir(so_far.c_str(), 0777) == 0 ? 0 : errno;
    std::error_code unknown;
    if (error_number == 0 || std::filesystem::is_directory(so_far, unknown)) continue;
    if (error_number == EEXIST)
      fail(ErrorKind::storage, "cannot create the directory {}: {} is a file, not a directory",
           path, so_far.string());
    fail(ErrorKind::storage, "cannot create the directory {}: {}: {}", path, so_far.string(),
         describe_write_error(error_number));
  }
}

std::string nearest_existing(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  fs::path found = fs::absolute(path, unknown).lexically_normal();
  while (!fs::exists(found, unknown) && found.has_relative_path()) found = found.parent_path();
  return found.string();
}

std::optional<double> free_bytes(const std::string& path) {
  struct statvfs status {};
  if (::statvfs(nearest_existing(path).c_str(), &status) != 0 || status.f_blocks == 0) return {};
  return static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize);
}

std::string describe_write_error(int error_number) {
  const std::string reason = std::strerror(error_number);
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return reason + "; make room there or write to another disk";
    case EACCES:
    case EPERM:
    case EROFS:
      return reason + "; choose a folder that you may write to";
    case EFBIG:
      return reason + "; raise the limit on file sizes (ulimit -f)";
    default:
      return reason;
  }
}

std::string move_to_previous(const std::string& folder, const std::vector<std::string>& names) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (fs::exists(fs::path(folder) / name)) found.push_back(name);
  if (found.empty()) return {};
  int k = 1;
  while (fs::exists(fmt::format("{}/previous-{}", folder, k))) ++k;
  const fs::path target = fmt::format("{}/previous-{}", folder, k);
  make_directories(target.string());
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::error_code error, ignored;
    fs::rename(fs::path(folder) / found[i], target / found[i], error);
    if (!error) continue;
    for (std::size_t moved = 0; moved < i; ++moved)
      fs::rename(target / found[moved], fs::path(folder) / found[moved], ignored);
    fs::remove(target, ignored);
    fail(ErrorKind::storage, "{}/{} cannot be moved to {}: {}", folder, found[i], target.string(),
         describe_write_error(error.value()));
  }
  return target.string();
}

void sync_directory(const std::string& path) {
  const Descriptor folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  // Some network file systems cannot flush a directory and say EINVAL: nothing more can be done.
  if (folder.number < 0 || (::fsync(folder.number) != 0 && errno != EINVAL))
    fail(ErrorKind::storage, "cannot flush the directory {} to the disk: {}", path,
         std::strerror(errno));
}

}  // namespace skep
