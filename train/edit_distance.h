#pragma once
// How far apart two words are: for messages that name what was probably meant.
#include <cstddef>
#include <string_view>

namespace skep {

/// Edits (insert, delete, replace, swap neighbours) that turn one word into the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

/// Whether so many edits of `word` still leave a misspelling: two, or a third of a longer word, but
/// never all its letters. A suggestion further off than that misleads.
bool is_misspelling(std::string_view word, std::size_t edits);

}  // namespace skep
