#pragma once
// A sequence of token ids, wherever they lie: in memory after tokenising, or in a mapped file.
// Cheap to copy; a part of a stream shares the storage of the whole.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace skep {

enum class TokenType { uint16, uint32 };

constexpr std::int64_t size_bytes(TokenType type) { return type == TokenType::uint16 ? 2 : 4; }

/// The narrowest type that holds ids in [0, vocab_size).
constexpr TokenType token_type_for(std::int64_t vocab_size) {
  return vocab_size <= 65536 ? TokenType::uint16 : TokenType::uint32;
}

class TokenStream {
 public:
  TokenStream() = default;

  /// A view of `count` ids at `data` (aligned to the type); `owner` keeps the memory alive.
  TokenStream(std::shared_ptr<const void> owner, const std::byte* data, TokenType type,
              std::int64_t count);

  /// A copy of the ids (all >= 0), stored as the narrowest type.
  static TokenStream from_ids(std::span<const std::int32_t> ids);

  std::int64_t size() const { return count_; }
  TokenType type() const { return type_; }

  /// Copies ids [first, first + out.size()) to `out`. Ids beyond int32 are clamped to its largest
  /// value, which every vocabulary refuses.
  void copy(std::int64_t first, std::span<std::int32_t> out) const;

  /// Ids [first, first + count) as a stream of their own.
  TokenStream part(std::int64_t first, std::int64_t count) const;

  /// The largest id, or -1 for an empty stream. Reads everything.
  std::int64_t largest() const;

  /// A hash of the ids, whatever type they are stored in. Reads everything.
  std::uint64_t hash() const;

  /// The position of the first id >= vocab_size, or -1. Reads everything.
  std::int64_t find_outside(std::int64_t vocab_size) const;

 private:
  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
  TokenType type_ = TokenType::uint16;
  std::int64_t count_ = 0;
};

}  // namespace skep
