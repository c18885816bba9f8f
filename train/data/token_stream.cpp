#include "train/data/token_stream.h"

#include <algorithm>
#include <limits>

#include "engine/core/error.h"

namespace skep {
namespace {

/// Calls `visit` with the ids as a span of their stored type.
template <class Visit>
auto with_ids(const std::byte* data, TokenType type, std::int64_t count, Visit&& visit) {
  const auto size = static_cast<std::size_t>(count);
  if (type == TokenType::uint16)
    return visit(std::span(reinterpret_cast<const std::uint16_t*>(data), size));
  return visit(std::span(reinterpret_cast<const std::uint32_t*>(data), size));
}

template <class Stored>
TokenStream narrowed(std::span<const std::int32_t> ids, TokenType type) {
  const auto stored = std::make_shared<std::vector<Stored>>(ids.begin(), ids.end());
  const auto* data = reinterpret_cast<const std::byte*>(stored->data());
  return TokenStream(stored, data, type, static_cast<std::int64_t>(ids.size()));
}

}  // namespace

TokenStream::TokenStream(std::shared_ptr<const void> owner, const std::byte* data, TokenType type,
                         std::int64_t count)
    : owner_(std::move(owner)), data_(data), type_(type), count_(count) {}

TokenStream TokenStream::from_ids(std::span<const std::int32_t> ids) {
  if (ids.empty()) return {};
  const auto [low, high] = std::minmax_element(ids.begin(), ids.end());
  check(*low >= 0, "token stream: negative id {}", *low);
  const TokenType type = token_type_for(std::int64_t{*high} + 1);
  return type == TokenType::uint16 ? narrowed<std::uint16_t>(ids, type)
                                   : narrowed<std::uint32_t>(ids, type);
}

void TokenStream::copy(std::int64_t first, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  check(first >= 0 && first <= count_ && count <= count_ - first, "token stream: ids {} … {} of {}",
        first, first + count, count_);
  constexpr std::uint32_t most = std::numeric_limits<std::int32_t>::max();
  with_ids(data_, type_, count_, [&](auto ids) {
    const auto wanted = ids.subspan(static_cast<std::size_t>(first), out.size());
    std::transform(wanted.begin(), wanted.end(), out.begin(), [most](std::uint32_t id) {
      return static_cast<std::int32_t>(std::min(id, most));
    });
  });
}

TokenStream TokenStream::part(std::int64_t first, std::int64_t count) const {
  check(first >= 0 && count >= 0 && first <= count_ && count <= count_ - first,
        "token stream: part {} + {} of {}", first, count, count_);
  return TokenStream(owner_, data_ + first * size_bytes(type_), type_, count);
}

std::int64_t TokenStream::largest() const {
  return with_ids(data_, type_, count_, [](auto ids) -> std::int64_t {
    return ids.empty() ? -1 : std::int64_t{*std::max_element(ids.begin(), ids.end())};
  });
}

std::uint64_t TokenStream::hash() const {
  return with_ids(data_, type_, count_, [](auto ids) {
    std::uint64_t hash = 1469598103934665603ull;  // FNV-1a over ids, not bytes
    for (auto id : ids) hash = (hash ^ std::uint64_t{id}) * 1099511628211ull;
    return hash;
  });
}

std::int64_t TokenStream::find_outside(std::int64_t vocab_size) const {
  return with_ids(data_, type_, count_, [&](auto ids) -> std::int64_t {
    const auto found = std::find_if(ids.begin(), ids.end(), [&](auto id) {
      return static_cast<std::int64_t>(id) >= vocab_size;
    });
    return found == ids.end() ? -1 : found - ids.begin();
  });
}

}  // namespace skep
