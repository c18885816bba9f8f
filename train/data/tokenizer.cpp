#include "train/data/tokenizer.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "train/data/byte_tokenizer.h"
#include "train/data/char_tokenizer.h"

namespace skep {
namespace {

/// One kind of tokenizer.json: recognised by its contents, then read in full.
struct Kind {
  bool (*recognises)(const nlohmann::json&);
  std::unique_ptr<Tokenizer> (*read)(const nlohmann::json&);
};

constexpr Kind kinds[] = {
    {ByteTokenizer::recognises, ByteTokenizer::from_json},
    {CharTokenizer::recognises, CharTokenizer::from_json},
};

std::string model_type(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("model") || !json["model"].is_object())
    fail(ErrorKind::data, "not a tokenizer.json: it has no object \"model\"");
  const auto& model = json["model"];
  if (!model.contains("type") || !model["type"].is_string())
    fail(ErrorKind::data, "not a tokenizer.json: its model names no \"type\"");
  return model["type"];
}

std::unique_ptr<Tokenizer> from_json(const nlohmann::json& json) {
  const std::string type = model_type(json);
  for (const Kind& kind : kinds)
    if (kind.recognises(json)) return kind.read(json);
  fail(ErrorKind::data,
       "a tokenizer of the kind {} is not supported: use byte-level BPE without merges (byte) or "
       "WordLevel over single characters (char)",
       type);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Tokenizer::files() const {
  // Without the second file transformers would strip spaces when it decodes.
  const nlohmann::json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                 {"clean_up_tokenization_spaces", false}};
  return {{"tokenizer.json", to_json()}, {"tokenizer_config.json", config.dump(2) + "\n"}};
}

void Tokenizer::save(const std::string& folder) const {
  for (const auto& [name, text] : files()) write_file(folder + "/" + name, text);
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  std::error_code unknown;
  const bool is_folder = std::filesystem::is_directory(path, unknown);
  const std::string file = is_folder ? path + "/tokenizer.json" : path;
  const std::string text = read_file(file);
  try {
    return from_json(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    const std::string_view what = error.what();  // "[json.exception.parse_error.101] parse error…"
    fail(ErrorKind::data, "{}: not a usable tokenizer.json: {}", file,
         what.substr(what.find("] ") + 2));
  } catch (const Error& error) {
    fail(ErrorKind::data, "{}: {}", file, error.what());
  }
}

}  // namespace skep
