#include "tools/tokenize/named_tokenizer.h"

#include <filesystem>

#include "engine/core/error.h"
#include "train/checkpoint/chain.h"
#include "train/checkpoint/saved_model.h"
#include "train/data/byte_tokenizer.h"
#include "train/data/char_tokenizer.h"

namespace skep {
namespace {

std::shared_ptr<const Tokenizer> load_named(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  if (!fs::exists(path, unknown))
    fail(ErrorKind::data,
         "--tokenizer: {} is neither byte nor char nor the path of a tokenizer.json or its folder",
         path);
  if (!fs::is_directory(path, unknown) || fs::exists(path + "/tokenizer.json", unknown))
    return load_tokenizer(path);
  const std::string model = path + "/model";  // of a checkpoint
  if (fs::exists(model + "/tokenizer.json", unknown)) return load_tokenizer(model);
  return load_tokenizer(previous_of(path).empty() ? path : find_saved_model(path));
}

}  // namespace

std::shared_ptr<const Tokenizer> named_tokenizer(const std::string& name) {
  if (name == "byte") return std::make_shared<ByteTokenizer>();
  if (name == "char")
    fail(ErrorKind::usage,
         "--tokenizer char: which characters? Name the tokenizer.json that `tokenize train` or a "
         "run wrote");
  return load_named(name);
}

std::shared_ptr<const Tokenizer> named_tokenizer(const std::string& name, std::string_view text) {
  if (name == "char") return std::make_shared<CharTokenizer>(CharTokenizer::from_text(text));
  return named_tokenizer(name);
}

}  // namespace skep
