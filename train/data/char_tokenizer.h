#pragma once
// One id for each character (Unicode code point) of a text, in the order of the code points, as in
// nanoGPT's character-level recipe. As a tokenizer.json it is a WordLevel model behind a split into
// single characters.
#include <nlohmann/json_fwd.hpp>

#include "train/data/tokenizer.h"

namespace skep {

class CharTokenizer : public Tokenizer {
 public:
  /// Characters by id. They must be distinct and at least one; Error(data) otherwise.
  explicit CharTokenizer(std::u32string characters);

  /// The vocabulary of a text; Error(data) with the offset when it is not UTF-8, or when empty.
  static CharTokenizer from_text(std::string_view text);

  std::string name() const override { return "char"; }
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(characters_.size()); }
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::uint64_t hash() const override;
  std::string to_json() const override;

  /// Whether a tokenizer.json is a WordLevel model whose entries are single characters.
  static bool recognises(const nlohmann::json& json);
  static std::unique_ptr<Tokenizer> from_json(const nlohmann::json& json);

 private:
  std::u32string characters_;        ///< id -> character
  std::vector<std::int32_t> id_of_;  ///< character -> id, or -1
};

}  // namespace skep
