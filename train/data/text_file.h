#pragma once
// Files that people take for texts and that are none. A byte-level model would learn them without a
// word; here they are known by their first bytes.
#include <string_view>

namespace skep {

/// Error(data), saying what the bytes are and how to make a text of them, for archives, compressed
/// files, documents, arrays and UTF-16 or UTF-32.
void require_text(std::string_view bytes);

}  // namespace skep
