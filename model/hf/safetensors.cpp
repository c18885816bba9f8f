#include "model/hf/safetensors.h"

#include <algorithm>
#include <array>

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

SafetensorsFile::SafetensorsFile(std::filesystem::path path, std::unique_ptr<MappedFile> file,
                                 std::vector<std::byte> memory)
    : path_(std::move(path)), file_(std::move(file)), memory_(std::move(memory)) {
  SafetensorsHeader header =
      parse_safetensors(file_ ? file_->bytes() : std::span<const std::byte>(memory_), path_);
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  return SafetensorsFile(path, std::make_unique<MappedFile>(path.string()), {});
}

SafetensorsFile SafetensorsFile::over(const std::filesystem::path& path,
                                      std::vector<std::byte> bytes) {
  return SafetensorsFile(path, nullptr, std::move(bytes));
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const StoredTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace skep
