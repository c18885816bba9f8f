#include "train/data/char_tokenizer.h"

#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/core/error.h"
#include "train/data/tokenizer_json.h"
#include "train/data/utf8.h"

namespace skep {
namespace {

/// Any one character, line ends included, in the regex dialect of Hugging Face tokenizers.
constexpr const char* any_character = "[\\s\\S]";

CodePoint require_utf8(std::string_view text, std::size_t offset) {
  const auto point = decode_utf8(text, offset);
  if (!point)
    fail(ErrorKind::data,
         "not UTF-8 at byte {} (0x{:02X}): convert the text, or use the tokenizer byte", offset,
         static_cast<unsigned char>(text[offset]));
  return *point;
}

std::string as_utf8(char32_t character) {
  std::string text;
  append_utf8(text, character);
  return text;
}

/// The single character of a vocabulary entry.
char32_t only_character(const std::string& entry) {
  const auto point = decode_utf8(entry, 0);
  if (!point || static_cast<std::size_t>(point->length_bytes) != entry.size())
    fail(ErrorKind::data,
         "WordLevel vocabulary entry {} is not a single character: only character-level "
         "WordLevel is supported",
         nlohmann::json(entry).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  return point->value;
}

}  // namespace

CharTokenizer::CharTokenizer(std::u32string characters) : characters_(std::move(characters)) {
  if (characters_.empty()) fail(ErrorKind::data, "a character vocabulary must not be empty");
  id_of_.assign(*std::max_element(characters_.begin(), characters_.end()) + std::size_t{1}, -1);
  for (std::size_t id = 0; id < characters_.size(); ++id) {
    std::int32_t& entry = id_of_[characters_[id]];
    if (entry >= 0)
      fail(ErrorKind::data, "character U+{:04X} stands twice in the vocabulary",
           static_cast<std::uint32_t>(characters_[id]));
    entry = static_cast<std::int32_t>(id);
  }
}

CharTokenizer CharTokenizer::from_text(std::string_view text) {
  std::vector<bool> seen(0x110000);
  for (std::size_t offset = 0; offset < text.size();) {
    const CodePoint point = require_utf8(text, offset);
    seen[point.value] = true;
    offset += static_cast<std::size_t>(point.length_bytes);
  }
  std::u32string characters;
  for (std::size_t value = 0; value < seen.size(); ++value)
    if (seen[value]) characters += static_cast<char32_t>(value);
  return CharTokenizer(std::move(characters));
}

std::vector<std::int32_t> CharTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  for (std::size_t offset = 0; offset < text.size();) {
    const CodePoint point = require_utf8(text, offset);
    const std::int32_t id = point.value < id_of_.size() ? id_of_[point.value] : -1;
    if (id < 0)
      fail(ErrorKind::data,
           "character U+{:04X} at byte {} is not among the {} characters of the tokenizer",
           static_cast<std::uint32_t>(point.value), offset, characters_.size());
    ids.push_back(id);
    offset += static_cast<std::size_t>(point.length_bytes);
  }
  return ids;
}

std::string CharTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  text.reserve(ids.size());
  for (const std::int32_t id : ids) {
    check_id(id, vocab_size());
    append_utf8(text, characters_[static_cast<std::size_t>(id)]);
  }
  return text;
}

std::uint64_t CharTokenizer::hash() const {
  std::string identity = "char";
  for (const char32_t character : characters_) append_utf8(identity, character);
  return XXH3_64bits(identity.data(), identity.size());
}

std::string CharTokenizer::to_json() const {
  nlohmann::ordered_json json = empty_tokenizer_json();
  json["pre_tokenizer"] = {{"type", "Split"},
                           {"pattern", {{"Regex", any_character}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
  json["decoder"] = {{"type", "Fuse"}};
  // The format wants an unknown token; it is outside the vocabulary, so that unknown characters
  // are refused there as they are here.
  json["model"] = {
      {"type", "WordLevel"}, {"vocab", nlohmann::ordered_json::object()}, {"unk_token", "<unk>"}};
  auto& vocab = json["model"]["vocab"].get_ref<nlohmann::ordered_json::object_t&>();
  for (std::size_t id = 0; id < characters_.size(); ++id)
    vocab.emplace_back(as_utf8(characters_[id]), id);  // distinct: no search for duplicates
  return json.dump(2) + "\n";
}

bool CharTokenizer::recognises(const nlohmann::json& json) {
  return json.at("model").at("type") == "WordLevel" &&
         component_type(json, "pre_tokenizer") == "Split";
}

std::unique_ptr<Tokenizer> CharTokenizer::from_json(const nlohmann::json& json) {
  require_plain(json);
  const auto& split = json.at("pre_tokenizer");
  if (split.at("pattern") != nlohmann::json{{"Regex", any_character}} ||
      split.at("behavior") != "Isolated")
    fail(ErrorKind::data,
         "pre_tokenizer must be an isolating Split on the Regex {}: only "
         "character-level WordLevel is supported",
         any_character);
  const auto& vocab = json.at("model").at("vocab");
  if (!vocab.is_object()) fail(ErrorKind::data, "the vocabulary is not an object");
  std::u32string characters(vocab.size(), U'\0');
  std::vector<bool> taken(vocab.size());
  for (const auto& [entry, id] : vocab.items()) {
    const bool in_range = id.is_number_unsigned() && id.get<std::uint64_t>() < vocab.size();
    if (!in_range || taken[id.get<std::size_t>()])
      fail(ErrorKind::data,
           "vocabulary: the id of U+{:04X} is repeated or not an integer from 0 to {}",
           static_cast<std::uint32_t>(only_character(entry)), vocab.size() - 1);
    taken[id.get<std::size_t>()] = true;
    characters[id.get<std::size_t>()] = only_character(entry);
  }
  return std::make_unique<CharTokenizer>(std::move(characters));
}

}  // namespace skep
