#include "train/data/utf8.h"

namespace skep {

std::optional<CodePoint> decode_utf8(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[offset + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return CodePoint{first, 1};
  const int length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - offset < static_cast<std::size_t>(length))
    return std::nullopt;  // a continuation byte, an overlong pair, too large, or cut off
  char32_t value = first & (0x7F >> length);
  for (int i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
    value = (value << 6) | (byte(i) & 0x3F);
  }
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < smallest[length] || surrogate || value > 0x10FFFF) return std::nullopt;
  return CodePoint{value, length};
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    const auto point = decode_utf8(text, offset);
    if (!point) return offset;
    offset += static_cast<std::size_t>(point->length_bytes);
  }
  return std::nullopt;
}

void append_utf8(std::string& text, char32_t value) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((value >> shift) & 0x3F)); };
  if (value < 0x80) {
    text += static_cast<char>(value);
  } else if (value < 0x800) {
    text += static_cast<char>(0xC0 | (value >> 6));
    tail(0);
  } else if (value < 0x10000) {
    text += static_cast<char>(0xE0 | (value >> 12));
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xF0 | (value >> 18));
    tail(12), tail(6), tail(0);
  }
}

}  // namespace skep
