#include "model/hf/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "engine/core/error.h"
#include "model/hf/safetensors_header.h"

namespace skep {
namespace {

struct StoredTypeInfo {
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<StoredTypeInfo, 15> stored_types{{
    {"BOOL", 1},
    {"U8", 1},
    {"I8", 1},
    {"F8_E5M2", 1},
    {"F8_E4M3", 1},
    {"I16", 2},
    {"U16", 2},
    {"F16", 2},
    {"BF16", 2},
    {"I32", 4},
    {"U32", 4},
    {"F32", 4},
    {"F64", 8},
    {"I64", 8},
    {"U64", 8},
}};
static_assert(stored_types[static_cast<std::size_t>(StoredType::u64)].name == "U64");

const StoredTypeInfo& info(StoredType type) { return stored_types[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view stored_type_name(StoredType type) { return info(type).name; }
std::size_t stored_type_bytes(StoredType type) { return info(type).bytes; }

std::optional<StoredType> find_stored_type(std::string_view name) {
  for (std::size_t i = 0; i < stored_types.size(); ++i) {
    if (stored_types[i].name == name) return static_cast<StoredType>(i);
  }
  return {};
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    fail(ErrorKind::data, "{}: cannot be opened: {}", path.string(), std::strerror(errno));
  struct stat status = {};
  const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  void* start = nullptr;
  int map_error = 0;
  if (regular && status.st_size > 0) {  // an empty mapping is an error of its own
    start = mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    map_error = start == MAP_FAILED ? errno : 0;
  }
  close(file);  // the mapping outlives the descriptor; nothing was written through it
  if (!regular) fail(ErrorKind::data, "{}: not a regular file", path.string());
  if (map_error != 0) {
    fail(ErrorKind::data, "{}: cannot be mapped: {}", path.string(), std::strerror(map_error));
  }
  if (start)
    bytes_ = {static_cast<const std::byte*>(start), static_cast<std::size_t>(status.st_size)};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

SafetensorsFile::SafetensorsFile(std::filesystem::path path, MappedFile file)
    : path_(std::move(path)), file_(std::move(file)) {
  SafetensorsHeader header = parse_safetensors(file_.bytes(), path_);
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  return SafetensorsFile(path, MappedFile(path));
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const StoredTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace skep
