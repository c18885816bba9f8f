#pragma once
// Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skep {

struct CodePoint {
  char32_t value;
  int length_bytes;
};

/// The code point that starts at `offset`, or nothing when the bytes there are not UTF-8.
std::optional<CodePoint> decode_utf8(std::string_view text, std::size_t offset);

/// The offset of the first byte that is not UTF-8, or nothing.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

/// Appends the 1 to 4 bytes of a code point.
void append_utf8(std::string& text, char32_t value);

}  // namespace skep
