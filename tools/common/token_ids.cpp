#include "tools/common/token_ids.h"

#include <charconv>

#include "engine/core/error.h"

namespace skep {
namespace {

constexpr std::string_view separators = ", \t\r\n";

}  // namespace

std::string format_ids(std::span<const std::int32_t> ids) {
  return fmt::format("{}", fmt::join(ids, " "));
}

std::vector<std::int32_t> parse_ids(std::string_view text, const std::string& source) {
  std::vector<std::int32_t> ids;
  std::size_t begin = text.find_first_not_of(separators);
  while (begin != text.npos) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    std::int32_t id = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), id);
    if (read.ec != std::errc() || read.ptr != word.data() + word.size())
      fail(ErrorKind::usage, "{}: \"{}\" at position {} is not a token id", source, word,
           ids.size());
    ids.push_back(id);
    begin = text.find_first_not_of(separators, end);
  }
  return ids;
}

void require_known_ids(std::span<const std::int32_t> ids, std::int64_t vocab_size,
                       const std::string& source) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocab_size)
      fail(ErrorKind::usage, "{}: token {} at position {} is outside the vocabulary of {}", source,
           ids[i], i, vocab_size);
}

}  // namespace skep
