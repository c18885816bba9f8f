#pragma once
// A model as it was saved: in a Hugging Face style folder, or in a checkpoint, whole or not.
#include <string>

#include "model/hf/model_folder.h"

namespace skep {

struct SavedModel {
  std::string folder;  ///< of its config.json and tokenizer
  LoadedModel loaded;
};

/// Error(data) when there is no model; of a checkpoint that continues others, Error(storage) naming
/// the link at fault.
SavedModel open_saved_model(const std::string& given);

/// The folder above, without opening the model.
std::string find_saved_model(const std::string& given);

}  // namespace skep
