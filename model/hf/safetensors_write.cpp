// Writes safetensors files. A checkpoint half written is worse than none, so the bytes go to a
// temporary file that takes the final name only after the disk has confirmed all of them.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/core/error.h"
#include "model/hf/safetensors.h"
#include "model/hf/safetensors_declarations.h"
#include "model/hf/safetensors_header.h"

namespace skep {
namespace {

void check_writable(const std::filesystem::path& path, const std::vector<TensorLayout>& tensors) {
  std::vector<std::string_view> names;
  for (const TensorLayout& tensor : tensors) {
    const bool negative = std::any_of(tensor.shape.begin(), tensor.shape.end(),
                                      [](std::int64_t size) { return size < 0; });
    const auto bytes = negative ? std::nullopt : array_bytes(tensor.shape, tensor.type);
    check(tensor.shape.size() <= max_rank && bytes == tensor.bytes,
          "{}: tensor {}: shape [{}] of {} does not take {} bytes", path.string(),
          printable(tensor.name), fmt::join(tensor.shape, ","), stored_type_name(tensor.type),
          tensor.bytes);
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
std::string header_text(const std::filesystem::path& path, const std::vector<TensorLayout>& tensors,
                        const Metadata& metadata) {
  std::string members;
  for (const auto& [key, value] : metadata) {
    members += fmt::format("{}{}:{}", members.empty() ? "" : ",", json_string(path, key),
                           json_string(path, value));
  }
  if (!metadata.empty()) members = "\"__metadata__\":{" + members + "}";
  std::uint64_t begin = 0;
  for (const TensorLayout& tensor : tensors) {
    const std::uint64_t end = begin + tensor.bytes;
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

// By element size descending, then name: so every array is aligned.
template <class T>
void bring_in_order(std::vector<T>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const T& a, const T& b) {
    const std::size_t a_bytes = stored_type_bytes(a.type), b_bytes = stored_type_bytes(b.type);
    return std::tie(b_bytes, a.name) < std::tie(a_bytes, b.name);
  });
}

}  // namespace

std::string safetensors_head(const std::filesystem::path& path, std::vector<TensorLayout>& tensors,
                             const Metadata& metadata) {
  check_writable(path, tensors);
  bring_in_order(tensors);
  const std::string text = header_text(path, tensors, metadata);
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i));
  return length + text;
}

void write_safetensors(const std::filesystem::path& path, std::vector<StoredTensor> tensors,
                       const Metadata& metadata) {
  std::vector<TensorLayout> layouts;
  for (const StoredTensor& t : tensors) layouts.push_back({t.name, t.type, t.shape, t.data.size()});
  const std::string head = safetensors_head(path, layouts, metadata);
  bring_in_order(tensors);
  AtomicFile file(path.string());
  file.write(head);
  for (const StoredTensor& tensor : tensors) file.write(tensor.data);
  file.commit();
}

}  // namespace skep
