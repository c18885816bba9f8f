#pragma once
// Token ids as text: separated by spaces when printed, by commas or white space when read.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skep {

/// "1 2 3", without a line end.
std::string format_ids(std::span<const std::int32_t> ids);

/// The inverse, commas allowed. Error(usage) naming `source` and the position of what is not an
/// id.
std::vector<std::int32_t> parse_ids(std::string_view text, const std::string& source);

/// Error(usage) naming the position of the first id outside [0, vocab_size).
void require_known_ids(std::span<const std::int32_t> ids, std::int64_t vocab_size,
                       const std::string& source);

}  // namespace skep
