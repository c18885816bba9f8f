#pragma once
// Writing nanoGPT's token files: uint16 ids, little-endian, and nothing else.
#include <cstdint>
#include <span>
#include <string>

namespace skep {

/// Error(data) with the position of an id beyond uint16; Error(storage) when writing fails.
void write_raw_tokens(const std::string& path, std::span<const std::int32_t> ids);

}  // namespace skep
