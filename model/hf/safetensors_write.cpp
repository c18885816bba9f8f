// Writes safetensors files. A checkpoint half written is worse than none, so the bytes go to a
// temporary file that takes the final name only after the disk has confirmed all of them.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/core/error.h"
#include "model/hf/safetensors.h"
#include "model/hf/safetensors_declarations.h"
#include "model/hf/safetensors_header.h"

namespace skep {
namespace {

/// A new file that appears under its name when finish() succeeds, and otherwise leaves no trace.
class ReplacingFile {
 public:
  explicit ReplacingFile(const std::filesystem::path& path)
      : path_(path), temporary_(path.string() + ".tmp") {
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    require(file_ >= 0, "created");
  }
  ReplacingFile(const ReplacingFile&) = delete;
  ReplacingFile& operator=(const ReplacingFile&) = delete;
  ~ReplacingFile() {
    if (file_ >= 0) close(file_);
    if (!finished_) unlink(temporary_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      require(written > 0, "written");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void finish() {
    require(fsync(file_) == 0, "flushed to disk");
    require(close(std::exchange(file_, -1)) == 0, "closed");
    require(std::rename(temporary_.c_str(), path_.c_str()) == 0, "given its final name");
    finished_ = true;
    sync_folder();
  }

 private:
  /// The new name itself is only safe once its folder is on disk.
  void sync_folder() {
    const auto folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
    file_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(file_ >= 0 && fsync(file_) == 0, "made durable in its folder");
    require(close(std::exchange(file_, -1)) == 0, "made durable in its folder");
  }

  void require(bool done, std::string_view what) const {
    if (done) return;
    fail(ErrorKind::storage, "{}: could not be {}: {}", path_.string(), what, std::strerror(errno));
  }

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int file_ = -1;
  bool finished_ = false;
};

void check_writable(const std::filesystem::path& path, const std::vector<StoredTensor>& tensors) {
  std::vector<std::string_view> names;
  for (const StoredTensor& tensor : tensors) {
    const bool negative = std::any_of(tensor.shape.begin(), tensor.shape.end(),
                                      [](std::int64_t size) { return size < 0; });
    const auto bytes = negative ? std::nullopt : array_bytes(tensor.shape, tensor.type);
    check(tensor.shape.size() <= max_rank && bytes == tensor.data.size(),
          "{}: tensor {}: shape [{}] of {} does not take {} bytes", path.string(),
          printable(tensor.name), fmt::join(tensor.shape, ","), stored_type_name(tensor.type),
          tensor.data.size());
    check(tensor.name != "__metadata__", "{}: a tensor cannot be called __metadata__",
          path.string());
    names.push_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  check(twice == names.end(), "{}: two tensors are called {}", path.string(),
        twice == names.end() ? "" : printable(*twice));
}

/// `"text"` in JSON.
std::string json_string(const std::filesystem::path& path, const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    fail(ErrorKind::bug, "{}: the name or metadata {} is not UTF-8", path.string(),
         printable(text));
  }
}

/// The header of tensors laid out one after another in the given order, padded to 8 bytes.
std::string header_text(const std::filesystem::path& path, const std::vector<StoredTensor>& tensors,
                        const Metadata& metadata) {
  std::string members;
  for (const auto& [key, value] : metadata) {
    members += fmt::format("{}{}:{}", members.empty() ? "" : ",", json_string(path, key),
                           json_string(path, value));
  }
  if (!metadata.empty()) members = "\"__metadata__\":{" + members + "}";
  std::uint64_t begin = 0;
  for (const StoredTensor& tensor : tensors) {
    const std::uint64_t end = begin + tensor.data.size();
    members += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                           members.empty() ? "" : ",", json_string(path, tensor.name),
                           stored_type_name(tensor.type), fmt::join(tensor.shape, ","), begin, end);
    begin = end;
  }
  std::string text = "{" + members + "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  check(text.size() <= max_header_bytes, "{}: a header of {} bytes, the format ends at {}",
        path.string(), text.size(), max_header_bytes);
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::vector<StoredTensor> tensors,
                       const Metadata& metadata) {
  check_writable(path, tensors);
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    const std::size_t a_bytes = stored_type_bytes(a.type), b_bytes = stored_type_bytes(b.type);
    return std::tie(b_bytes, a.name) < std::tie(a_bytes, b.name);
  });
  const std::string text = header_text(path, tensors, metadata);
  std::array<std::byte, 8> length;
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(text.size() >> (8 * i));

  ReplacingFile file(path);
  file.write(length);
  file.write(std::as_bytes(std::span(text)));
  for (const StoredTensor& tensor : tensors) file.write(tensor.data);
  file.finish();
}

}  // namespace skep
