#pragma once
// A model as it was saved: in a Hugging Face style folder, or in a checkpoint, whole or not.
#include <string>

#include "model/hf/model_folder.h"

namespace skep {

struct SavedModel {
  std::string folder;  ///< of its config.json and tokenizer
  LoadedModel loaded;
};

/// Error(data) when there is no model, or its checkpoint is damaged; of one that continues others
/// the link at fault is named.
SavedModel open_saved_model(const std::string& given);

/// The folder above, without opening the model.
std::string find_saved_model(const std::string& given);

}  // namespace skep
