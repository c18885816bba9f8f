#include "train/data/tokenizer_json.h"

#include "engine/core/error.h"

namespace skep {

nlohmann::ordered_json empty_tokenizer_json() {
  return {{"version", "1.0"},          {"truncation", nullptr},
          {"padding", nullptr},        {"added_tokens", nlohmann::ordered_json::array()},
          {"normalizer", nullptr},     {"pre_tokenizer", nullptr},
          {"post_processor", nullptr}, {"decoder", nullptr},
          {"model", nullptr}};
}

std::string component_type(const nlohmann::json& json, const std::string& component) {
  const auto part = json.find(component);
  if (part == json.end() || part->is_null()) return "";
  if (!part->is_object() || !part->contains("type") || !part->at("type").is_string())
    fail(ErrorKind::data, "{} names no \"type\"", component);
  return part->at("type");
}

void require_plain(const nlohmann::json& json) {
  if (const std::string type = component_type(json, "normalizer"); !type.empty())
    fail(ErrorKind::data, "normalizer {} is not supported by this kind of tokenizer", type);
  const auto added = json.find("added_tokens");
  if (added != json.end() && !added->is_null() && !added->empty())
    fail(ErrorKind::data, "added_tokens are not supported by this kind of tokenizer");
  // ByteLevel as a post-processor only moves offsets.
  const std::string post = component_type(json, "post_processor");
  if (!post.empty() && post != "ByteLevel")
    fail(ErrorKind::data, "post_processor {} is not supported by this kind of tokenizer", post);
}

void check_id(std::int32_t id, std::int64_t vocab_size) {
  if (id < 0 || id >= vocab_size)
    fail(ErrorKind::data, "token id {} is outside the vocabulary of {}", id, vocab_size);
}

}  // namespace skep
