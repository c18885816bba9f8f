#include "model/hf/safetensors_header.h"

#include <algorithm>

#include "engine/core/error.h"
#include "model/hf/safetensors_declarations.h"

namespace skep {
namespace {

/// The JSON text between the length and the data buffer.
std::string_view header_text(std::span<const std::byte> file, const std::filesystem::path& path) {
  if (file.size() < 8) {
    fail(ErrorKind::data,
         "{}: {} bytes, too short for a safetensors file (the header length takes 8)",
         path.string(), file.size());
  }
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | std::to_integer<std::uint64_t>(file[i]);
  if (length > max_header_bytes) {
    fail(ErrorKind::data, "{}: header of {} bytes, the limit is {}: not a safetensors file?",
         path.string(), length, max_header_bytes);
  }
  if (length > file.size() - 8) {
    fail(ErrorKind::data, "{}: header of {} bytes in a file of {}: the file is cut short",
         path.string(), length, file.size());
  }
  return {reinterpret_cast<const char*>(file.data()) + 8, length};
}

void check_complete(const Declaration& tensor, const std::filesystem::path& path) {
  const auto refuse = [&](std::string_view what) {
    fail(ErrorKind::data, "{}: tensor {}: {}", path.string(), printable(tensor.name), what);
  };
  if (!tensor.type) refuse("dtype is missing");
  if (!tensor.shape) refuse("shape is missing");
  if (!tensor.offsets) refuse("data_offsets is missing");
  if (tensor.offsets->size() != 2) refuse("data_offsets needs two numbers");
}

/// Sorted by offset, each tensor starts where the last one ended and has the size its shape asks
/// for, and together they fill the buffer: no overlap, no hole, no truncation, nothing trailing.
void check_layout(std::vector<const Declaration*> tensors, std::uint64_t buffer_bytes,
                  const std::filesystem::path& path) {
  std::sort(tensors.begin(), tensors.end(),
            [](const Declaration* a, const Declaration* b) { return *a->offsets < *b->offsets; });
  std::uint64_t expected = 0;
  for (const Declaration* tensor : tensors) {
    const std::uint64_t begin = (*tensor->offsets)[0], end = (*tensor->offsets)[1];
    const auto refuse = [&](const std::string& what) {
      fail(ErrorKind::data, "{}: tensor {}: {}", path.string(), printable(tensor->name), what);
    };
    if (end < begin) refuse(fmt::format("data ends at {} before it starts at {}", end, begin));
    if (begin != expected) {
      refuse(fmt::format("data starts at {} but the tensor before it ends at {} ({})", begin,
                         expected, begin < expected ? "they overlap" : "a hole"));
    }
    const auto bytes = array_bytes(*tensor->shape, *tensor->type);
    if (!bytes) refuse(fmt::format("shape [{}] overflows", fmt::join(*tensor->shape, ",")));
    if (*bytes != end - begin) {
      refuse(fmt::format("{} bytes of data, but shape [{}] of {} takes {}", end - begin,
                         fmt::join(*tensor->shape, ","), stored_type_name(*tensor->type), *bytes));
    }
    if (end > buffer_bytes) {
      refuse(fmt::format("data ends at {} of {} bytes: the file is cut short", end, buffer_bytes));
    }
    expected = end;
  }
  if (expected != buffer_bytes) {
    fail(ErrorKind::data, "{}: {} bytes follow the last tensor ({})", path.string(),
         buffer_bytes - expected,
         tensors.empty() ? "there is none" : printable(tensors.back()->name));
  }
}

}  // namespace

std::optional<std::uint64_t> array_bytes(std::span<const std::int64_t> shape, StoredType type) {
  std::uint64_t bits = 8 * stored_type_bytes(type);
  bool empty = false;
  for (const std::int64_t size : shape) {
    empty |= size == 0;
    const std::uint64_t factor = size == 0 ? 1 : static_cast<std::uint64_t>(size);
    if (__builtin_mul_overflow(bits, factor, &bits)) return {};
  }
  return empty ? 0 : bits / 8;
}

SafetensorsHeader parse_safetensors(std::span<const std::byte> file,
                                    const std::filesystem::path& path) {
  const std::string_view text = header_text(file, path);
  Declarations header = read_declarations(text, path);
  auto& declared = header.tensors;
  std::sort(declared.begin(), declared.end(),
            [](const Declaration& a, const Declaration& b) { return a.name < b.name; });
  std::vector<const Declaration*> order;
  for (const Declaration& tensor : declared) {
    if (!order.empty() && order.back()->name == tensor.name) {
      fail(ErrorKind::data, "{}: tensor {} stands twice", path.string(), printable(tensor.name));
    }
    check_complete(tensor, path);
    order.push_back(&tensor);
  }
  const auto buffer = file.subspan(8 + text.size());
  check_layout(order, buffer.size(), path);

  SafetensorsHeader checked{{}, std::move(header.metadata)};
  checked.tensors.reserve(declared.size());
  for (Declaration& tensor : declared) {
    const std::uint64_t begin = (*tensor.offsets)[0], end = (*tensor.offsets)[1];
    checked.tensors.push_back({std::move(tensor.name), *tensor.type, std::move(*tensor.shape),
                               buffer.subspan(begin, end - begin)});
  }
  return checked;
}

}  // namespace skep
