#include "train/data/token_stream.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/core/error.h"

namespace skep {
namespace {

/// Calls `visit` with the ids of a segment as a span of their stored type.
template <class Segment, class Visit>
auto with_ids(const Segment& segment, Visit&& visit) {
  const auto size = static_cast<std::size_t>(segment.count);
  if (segment.type == TokenType::uint16)
    return visit(std::span(reinterpret_cast<const std::uint16_t*>(segment.data), size));
  return visit(std::span(reinterpret_cast<const std::uint32_t*>(segment.data), size));
}

template <class Stored>
TokenStream narrowed(std::span<const std::int32_t> ids, TokenType type) {
  const auto stored = std::make_shared<std::vector<Stored>>(ids.begin(), ids.end());
  const auto* data = reinterpret_cast<const std::byte*>(stored->data());
  return TokenStream(stored, data, type, static_cast<std::int64_t>(ids.size()));
}

}  // namespace

TokenStream::TokenStream(std::shared_ptr<const void> owner, const std::byte* data, TokenType type,
                         std::int64_t count, std::string file) {
  append({std::move(owner), data, type, count, std::move(file)});
}

TokenStream TokenStream::from_ids(std::span<const std::int32_t> ids) {
  if (ids.empty()) return {};
  const auto [low, high] = std::minmax_element(ids.begin(), ids.end());
  check(*low >= 0, "token stream: negative id {}", *low);
  const TokenType type = token_type_for(std::int64_t{*high} + 1);
  return type == TokenType::uint16 ? narrowed<std::uint16_t>(ids, type)
                                   : narrowed<std::uint32_t>(ids, type);
}

TokenStream TokenStream::joined(std::span<const TokenStream> streams) {
  TokenStream all;
  for (const TokenStream& stream : streams)
    for (const Segment& segment : stream.segments_) all.append(segment);
  return all;
}

void TokenStream::append(Segment segment) {
  if (segment.count == 0) return;
  segment.begin = count_;
  count_ += segment.count;
  segments_.push_back(std::move(segment));
}

std::size_t TokenStream::segment_of(std::int64_t position) const {
  const auto next =
      std::ranges::upper_bound(segments_, position, {}, [](const Segment& s) { return s.begin; });
  return static_cast<std::size_t>(next - segments_.begin() - 1);
}

TokenType TokenStream::type() const {
  const bool wide = std::ranges::any_of(
      segments_, [](const Segment& segment) { return segment.type == TokenType::uint32; });
  return wide ? TokenType::uint32 : TokenType::uint16;
}

TokenPlace TokenStream::place(std::int64_t position) const {
  check(position >= 0 && position < count_, "token stream: id {} of {}", position, count_);
  const Segment& segment = segments_[segment_of(position)];
  return {segment.file, segment.skipped + position - segment.begin};
}

void TokenStream::copy(std::int64_t first, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  check(first >= 0 && first <= count_ && count <= count_ - first, "token stream: ids {} … {} of {}",
        first, first + count, count_);
  constexpr std::uint32_t most = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = out.empty() ? 0 : segment_of(first); !out.empty(); ++i) {
    const auto skipped = static_cast<std::size_t>(first - segments_[i].begin);
    const std::size_t copied = with_ids(segments_[i], [&](auto ids) {
      const auto wanted = ids.subspan(skipped, std::min(out.size(), ids.size() - skipped));
      std::transform(wanted.begin(), wanted.end(), out.begin(), [most](std::uint32_t id) {
        return static_cast<std::int32_t>(std::min(id, most));
      });
      return wanted.size();
    });
    first += static_cast<std::int64_t>(copied);
    out = out.subspan(copied);
  }
}

TokenStream TokenStream::part(std::int64_t first, std::int64_t count) const {
  check(first >= 0 && count >= 0 && first <= count_ && count <= count_ - first,
        "token stream: part {} + {} of {}", first, count, count_);
  TokenStream part;
  for (Segment segment : segments_) {
    const std::int64_t before = std::clamp<std::int64_t>(first - segment.begin, 0, segment.count);
    const std::int64_t end =
        std::clamp<std::int64_t>(first + count - segment.begin, before, segment.count);
    segment.data += before * size_bytes(segment.type);
    segment.skipped += before;
    segment.count = end - before;
    part.append(std::move(segment));
  }
  return part;
}

std::int64_t TokenStream::largest() const {
  std::int64_t largest = -1;
  for (const Segment& segment : segments_)
    largest = std::max(largest, with_ids(segment, [](auto ids) {
                         return std::int64_t{*std::max_element(ids.begin(), ids.end())};
                       }));
  return largest;
}

std::uint64_t TokenStream::hash() const {
  std::uint64_t hash = 1469598103934665603ull;  // FNV-1a over ids, not bytes
  for (const Segment& segment : segments_)
    with_ids(segment, [&hash](auto ids) {
      for (auto id : ids) hash = (hash ^ std::uint64_t{id}) * 1099511628211ull;
    });
  return hash;
}

std::int64_t TokenStream::find_outside(std::int64_t vocab_size) const {
  for (const Segment& segment : segments_) {
    const std::int64_t found = with_ids(segment, [&](auto ids) {
      return std::ranges::find_if(
                 ids, [&](auto id) { return static_cast<std::int64_t>(id) >= vocab_size; }) -
             ids.begin();
    });
    if (found < segment.count) return segment.begin + found;
  }
  return -1;
}

}  // namespace skep
