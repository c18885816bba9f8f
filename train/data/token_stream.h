#pragma once
// A sequence of token ids, wherever they lie: in memory after tokenising, or in mapped files, one
// after the other. Cheap to copy; a part of a stream, and streams joined, share the storage. Every
// id knows the file it comes from.
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

/// Where an id stands.
struct TokenPlace {
  std::string file;       ///< empty for ids that were never in a file
  std::int64_t position;  ///< in the file, counted in ids
};

class TokenStream {
 public:
  TokenStream() = default;

  /// A view of `count` ids at `data` (aligned to the type), which `file` begins with; `owner` keeps
  /// the memory alive.
  TokenStream(std::shared_ptr<const void> owner, const std::byte* data, TokenType type,
              std::int64_t count, std::string file = {});

  /// A copy of the ids (all >= 0), stored as the narrowest type.
  static TokenStream from_ids(std::span<const std::int32_t> ids);

  /// One stream after the other, with nothing in between.
  static TokenStream joined(std::span<const TokenStream> streams);

  std::int64_t size() const { return count_; }
  /// The widest type among the ids' storage.
  TokenType type() const;
  /// Where id `position` of the stream comes from.
  TokenPlace place(std::int64_t position) const;

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
  struct Segment {
    std::shared_ptr<const void> owner;
    const std::byte* data = nullptr;
    TokenType type = TokenType::uint16;
    std::int64_t count = 0;
    std::string file;
    std::int64_t skipped = 0;  ///< ids of the file before data
    std::int64_t begin = 0;    ///< in the stream
  };
  void append(Segment segment);
  std::size_t segment_of(std::int64_t position) const;

  std::vector<Segment> segments_;  // none is empty
  std::int64_t count_ = 0;
};

}  // namespace skep
