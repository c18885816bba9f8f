#include "tools/common/token_ids.h"

#include <charconv>

#include "engine/core/error.h"

namespace skep {
namespace {

constexpr std::string_view white_space = " \t\r\n", separators = ", \t\r\n";

std::int32_t parse_id(std::string_view word, const std::string& source, std::size_t position) {
  std::int32_t id = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), id);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size())
    fail(ErrorKind::usage, "{}: \"{}\" at position {} is not a token id", source, word, position);
  return id;
}

}  // namespace

std::string format_ids(std::span<const std::int32_t> ids) {
  return fmt::format("{}", fmt::join(ids, " "));
}

std::vector<std::int32_t> parse_ids(std::string_view text, const std::string& source) {
  std::vector<std::int32_t> ids;
  bool after_comma = false;
  for (std::size_t at = 0;;) {
    at = std::min(text.find_first_not_of(white_space, at), text.size());
    const bool ends = at == text.size();
    if (ends && !after_comma) return ids;
    if (ends || text[at] == ',') {
      // Something was forgotten, and leaving it out would shift what follows.
      if (ends || after_comma || ids.empty())
        fail(ErrorKind::usage, "{}: a token id is missing beside a comma at position {}", source,
             ids.size());
      after_comma = true;
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    ids.push_back(parse_id(text.substr(at, end - at), source, ids.size()));
    after_comma = false;
    at = end;
  }
}

void require_known_ids(std::span<const std::int32_t> ids, std::int64_t vocab_size,
                       const std::string& source) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocab_size)
      fail(ErrorKind::usage, "{}: token {} at position {} is outside the vocabulary of {}", source,
           ids[i], i, vocab_size);
}

}  // namespace skep
