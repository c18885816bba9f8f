#include "train/data/byte_tokenizer.h"

#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "engine/core/error.h"
#include "train/data/tokenizer_json.h"
#include "train/data/utf8.h"

namespace skep {
namespace {

bool is_printable(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

std::string spelling(int byte) {
  std::string text;
  append_utf8(text, printable_character(static_cast<std::uint8_t>(byte)));
  return text;
}

}  // namespace

char32_t printable_character(std::uint8_t byte) {
  if (is_printable(byte)) return byte;
  char32_t character = 0x100;
  for (int other = 0; other < byte; ++other) character += is_printable(other) ? 0 : 1;
  return character;
}

std::vector<std::int32_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) ids[i] = static_cast<unsigned char>(text[i]);
  return ids;
}

std::string ByteTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  text.reserve(ids.size());
  for (const std::int32_t id : ids) {
    check_id(id, vocab_size());
    text += static_cast<char>(id);
  }
  return text;
}

std::uint64_t ByteTokenizer::hash() const {
  constexpr std::string_view identity = "byte";
  return XXH3_64bits(identity.data(), identity.size());
}

std::string ByteTokenizer::to_json() const {
  nlohmann::ordered_json vocab = nlohmann::ordered_json::object();
  for (int byte = 0; byte < 256; ++byte) vocab[spelling(byte)] = byte;
  nlohmann::ordered_json json = empty_tokenizer_json();
  json["pre_tokenizer"] = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", true},
                           {"use_regex", false}};
  json["decoder"] = {{"type", "ByteLevel"},
                     {"add_prefix_space", true},
                     {"trim_offsets", true},
                     {"use_regex", true}};
  json["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"vocab", vocab},
                   {"merges", nlohmann::ordered_json::array()}};
  return json.dump(2) + "\n";
}

bool ByteTokenizer::recognises(const nlohmann::json& json) {
  const auto& model = json.at("model");
  return model.at("type") == "BPE" && model.contains("merges") && model["merges"].is_array() &&
         model["merges"].empty() && component_type(json, "pre_tokenizer") == "ByteLevel";
}

std::unique_ptr<Tokenizer> ByteTokenizer::from_json(const nlohmann::json& json) {
  require_plain(json);
  const auto& vocab = json.at("model").at("vocab");
  if (!vocab.is_object() || vocab.size() != 256)
    fail(ErrorKind::data,
         "byte-level BPE without merges must have the 256 bytes as vocabulary, "
         "got {} entries",
         vocab.size());
  if (json.at("pre_tokenizer").value("add_prefix_space", false))
    fail(ErrorKind::data, "pre_tokenizer: add_prefix_space is not supported");
  for (int byte = 0; byte < 256; ++byte) {
    const auto entry = vocab.find(spelling(byte));
    if (entry == vocab.end() || *entry != byte)
      fail(ErrorKind::data, "vocabulary: byte {} does not have the id {}", byte, byte);
  }
  return std::make_unique<ByteTokenizer>();
}

}  // namespace skep
