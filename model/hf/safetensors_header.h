#pragma once
// Reads and checks the header of a safetensors file held in memory. Policy: every number in the
// header is hostile until it agrees with all the others; nothing is allocated by a claimed size.
#include "model/hf/safetensors.h"

namespace skep {

/// Longer headers are refused by the format's own reader too.
inline constexpr std::uint64_t max_header_bytes = 100'000'000;
/// More dimensions than any array library supports: bounds the memory a header can make us spend.
inline constexpr std::size_t max_rank = 64;

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  // by name; data points into the parsed bytes
  Metadata metadata;
};

/// Parses a whole file's bytes; `path` only serves the messages. Error(data) as
/// SafetensorsFile::open.
SafetensorsHeader parse_safetensors(std::span<const std::byte> file,
                                    const std::filesystem::path& path);

/// Bytes of an array, or nothing when the product of its (non-negative) dimensions, taken without
/// the zeros, times the bits of an element overflows 64 bits: whether a shape is absurd does not
/// depend on the order of its dimensions.
std::optional<std::uint64_t> array_bytes(std::span<const std::int64_t> shape, StoredType type);

}  // namespace skep
