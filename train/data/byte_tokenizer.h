#pragma once
// The simplest tokenizer: 256 ids, the id is the byte. Any bytes pass through unchanged. As a
// tokenizer.json it is byte-level BPE without merges, in GPT-2's spelling of bytes as characters.
#include <nlohmann/json_fwd.hpp>

#include "train/data/tokenizer.h"

namespace skep {

class ByteTokenizer : public Tokenizer {
 public:
  std::string name() const override { return "byte"; }
  std::int64_t vocab_size() const override { return 256; }
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::uint64_t hash() const override;
  std::string to_json() const override;

  /// Whether a tokenizer.json is byte-level BPE with 256 entries and no merges.
  static bool recognises(const nlohmann::json& json);
  static std::unique_ptr<Tokenizer> from_json(const nlohmann::json& json);
};

/// GPT-2's printable character for a byte: itself for the visible part of Latin-1, and U+0100
/// onwards, in order, for the 68 others (space is U+0120).
char32_t printable_character(std::uint8_t byte);

}  // namespace skep
