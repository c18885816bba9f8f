#include "tools/common/folder_tokenizer.h"

#include <filesystem>

#include "engine/core/error.h"

namespace skep {

bool has_tokenizer(const std::string& model_folder) {
  std::error_code unknown;
  return std::filesystem::exists(model_folder + "/tokenizer.json", unknown);
}

std::shared_ptr<const Tokenizer> folder_tokenizer(const std::string& model_folder,
                                                  const ModelConfig& model) {
  if (!has_tokenizer(model_folder))
    fail(ErrorKind::data,
         "{}: no tokenizer.json here: put the model's own beside it, or work with token ids",
         model_folder);
  std::shared_ptr<const Tokenizer> tokenizer = load_tokenizer(model_folder);
  if (tokenizer->vocab_size() > model.vocab)
    fail(ErrorKind::data,
         "{}: tokenizer.json has {} ids, the model only {}: they do not belong together",
         model_folder, tokenizer->vocab_size(), model.vocab);
  return tokenizer;
}

}  // namespace skep
