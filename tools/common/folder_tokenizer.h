#pragma once
// The tokenizer that lies beside a model.
#include <memory>
#include <string>

#include "model/model_config.h"
#include "train/data/tokenizer.h"

namespace skep {

bool has_tokenizer(const std::string& model_folder);

/// Error(data) when the folder has none, when it is of an unknown kind, or when it knows more ids
/// than the model.
std::shared_ptr<const Tokenizer> folder_tokenizer(const std::string& model_folder,
                                                  const ModelConfig& model);

}  // namespace skep
