#include "model/hf/config_json.h"

#include <nlohmann/json.hpp>

#include "engine/core/error.h"

namespace skep {
namespace {

using Json = nlohmann::json;

std::int64_t positive(const Json& json, const char* field, const std::string& path) {
  const auto at = json.find(field);
  if (at == json.end()) fail(ErrorKind::data, "{}: field \"{}\" is missing", path, field);
  if (!at->is_number_integer() || at->get<std::int64_t>() < 1)
    fail(ErrorKind::data, "{}: field \"{}\" must be a positive integer, not {}", path, field,
         at->dump());
  return at->get<std::int64_t>();
}

template <class T>
T optional(const Json& json, const char* field, T fallback, const std::string& path) {
  const auto at = json.find(field);
  if (at == json.end() || at->is_null()) return fallback;
  try {
    return at->get<T>();
  } catch (const Json::exception&) {
    fail(ErrorKind::data, "{}: field \"{}\" has the wrong type: {}", path, field, at->dump());
  }
}

}  // namespace

std::string to_config_json(const ModelConfig& c) {
  nlohmann::ordered_json json;
  json["architectures"] = {"GPT2LMHeadModel"};
  json["model_type"] = "gpt2";
  json["n_layer"] = c.layers;
  json["n_head"] = c.heads;
  json["n_embd"] = c.width;
  json["n_positions"] = c.context;
  json["n_ctx"] = c.context;
  json["vocab_size"] = c.vocab;
  json["activation_function"] = "gelu_new";
  json["layer_norm_epsilon"] = 1e-5;
  json["initializer_range"] = 0.02;
  for (const char* field : {"resid_pdrop", "embd_pdrop"}) json[field] = c.dropout;
  json["attn_pdrop"] = 0.0;
  json["tie_word_embeddings"] = c.tied;
  json["bos_token_id"] = nullptr;  // absent, other programs assume GPT-2's own 50256
  json["eos_token_id"] = nullptr;
  json["torch_dtype"] = "float32";
  json["bias"] = c.bias;  // ours and nanoGPT's: transformers sees zero biases instead
  json["padded_vocab_size"] = c.padded_vocab;
  return json.dump(2) + "\n";
}

ModelConfig parse_config_json(const std::string& text, const std::string& path) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    fail(ErrorKind::data, "{}: not a JSON object", path);
  const auto type = optional<std::string>(json, "model_type", "", path);
  if (type != "gpt2")
    fail(ErrorKind::data, "{}: model_type \"{}\" is not supported; supported: gpt2", path, type);
  const auto activation = optional<std::string>(json, "activation_function", "gelu_new", path);
  if (activation != "gelu_new" && activation != "gelu_pytorch_tanh")
    fail(ErrorKind::data, "{}: activation_function \"{}\" is not supported; supported: gelu_new",
         path, activation);
  ModelConfig c;
  c.layers = positive(json, "n_layer", path);
  c.heads = positive(json, "n_head", path);
  c.width = positive(json, "n_embd", path);
  c.context = positive(json, json.contains("n_positions") ? "n_positions" : "n_ctx", path);
  c.vocab = positive(json, "vocab_size", path);
  c.padded_vocab = optional<std::int64_t>(json, "padded_vocab_size", c.vocab, path);
  c.dropout = optional<double>(json, "resid_pdrop", 0.0, path);
  c.bias = optional<bool>(json, "bias", true, path);
  c.tied = optional<bool>(json, "tie_word_embeddings", true, path);
  if (c.width % c.heads != 0)
    fail(ErrorKind::data, "{}: n_embd {} is not a multiple of n_head {}", path, c.width, c.heads);
  if (c.padded_vocab < c.vocab)
    fail(ErrorKind::data, "{}: padded_vocab_size is below vocab_size", path);
  return c;
}

}  // namespace skep
