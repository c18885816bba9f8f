#pragma once
// The safetensors file format (huggingface/safetensors): an 8-byte header length, a JSON header and
// one data buffer. Reading trusts nothing: a file either opens whole and consistent or is refused
// in one line. Writing is all or nothing: readers see the old file or the complete new one.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/files.h"

namespace skep {

/// Element types a file may hold; what a model accepts as weights is the model's decision.
enum class StoredType : std::uint8_t {
  boolean,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  f64,
  i64,
  u64
};

/// The format's spelling of a type: "F32", "BF16", …
std::string_view stored_type_name(StoredType type);
/// Size of one element.
std::size_t stored_type_bytes(StoredType type);
/// The inverse of stored_type_name, or nothing for a spelling the format does not know.
std::optional<StoredType> find_stored_type(std::string_view name);

/// A named array: row-major, little-endian. `data` points into whoever owns the bytes (the open
/// file or the writer's caller) and may be unaligned: copy elements out, do not cast the pointer.
struct StoredTensor {
  std::string name;
  StoredType type;
  std::vector<std::int64_t> shape;  // empty for a scalar
  std::span<const std::byte> data;  // product(shape) * stored_type_bytes(type)
};

/// What a header says of an array, without its elements.
struct TensorLayout {
  std::string name;
  StoredType type;
  std::vector<std::int64_t> shape;
  std::size_t bytes;
};

using Metadata = std::map<std::string, std::string>;

/// An open, fully checked safetensors file. Spans into it live as long as it does.
class SafetensorsFile {
 public:
  /// Error(data), naming the file and the tensor, unless every byte of the file is accounted for.
  static SafetensorsFile open(const std::filesystem::path& path);
  /// The same of a file's bytes in memory; `path` only serves the messages.
  static SafetensorsFile over(const std::filesystem::path& path, std::vector<std::byte> bytes);

  const std::filesystem::path& path() const { return path_; }
  /// All tensors, ordered by name.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// The tensor called `name`, or nullptr.
  const StoredTensor* find(std::string_view name) const;
  /// The header's `__metadata__`; empty when absent.
  const Metadata& metadata() const { return metadata_; }

 private:
  SafetensorsFile(std::filesystem::path path, std::unique_ptr<MappedFile> file,
                  std::vector<std::byte> memory);

  std::filesystem::path path_;
  // One of the two holds the bytes; both keep them in place when this moves.
  std::unique_ptr<MappedFile> file_;
  std::vector<std::byte> memory_;
  std::vector<StoredTensor> tensors_;
  Metadata metadata_;
};

/// Writes `tensors` by element size descending, then name, so that every array is aligned, into a
/// temporary file beside `path` that then replaces it. Error(storage) if any byte may not have
/// reached the disk (`path` is then as it was before); Error(bug) if a tensor contradicts itself.
void write_safetensors(const std::filesystem::path& path, std::vector<StoredTensor> tensors,
                       const Metadata& metadata = {});

/// What stands in such a file before the arrays: length and header. Brings `tensors` into the
/// file's order. Error(bug) if a tensor contradicts itself; `path` only serves the messages.
std::string safetensors_head(const std::filesystem::path& path, std::vector<TensorLayout>& tensors,
                             const Metadata& metadata = {});

}  // namespace skep
