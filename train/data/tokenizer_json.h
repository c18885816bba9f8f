#pragma once
// What the readers and writers of tokenizer.json share.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace skep {

/// Every part of a tokenizer.json, with nothing in it; writers fill in what they need.
nlohmann::ordered_json empty_tokenizer_json();

/// The type of a component ("pre_tokenizer", "decoder", …), or "" when it is null or absent.
std::string component_type(const nlohmann::json& json, const std::string& component);

/// Error(data) when a part is present that a plain tokenizer would silently ignore: a normalizer,
/// added tokens, a post-processor that adds tokens.
void require_plain(const nlohmann::json& json);

/// Error(data) unless 0 <= id < vocab_size.
void check_id(std::int32_t id, std::int64_t vocab_size);

}  // namespace skep
