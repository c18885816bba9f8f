#pragma once
// A model as a Hugging Face style folder: config.json and model.safetensors. What is written here
// loads in transformers, and published GPT-2 folders load here.
#include <memory>
#include <string>

#include "model/language_model.h"
#include "model/parameter_store.h"

namespace skep {

/// Writes both files into an existing folder. Error(storage) when a write fails.
void save_model(const std::string& folder, const ModelConfig& config,
                const ParameterStore& parameters);

/// `given`, or its subfolder "model" (a checkpoint); Error(data) when neither holds a config.json.
std::string find_model_folder(const std::string& given);

ModelConfig read_model_config(const std::string& folder);

/// Fills the store; Error(data) for a missing, misshapen or surplus tensor, by name.
void load_weights(const std::string& folder, const ModelConfig& config,
                  ParameterStore& parameters);

struct LoadedModel {
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<ParameterStore> parameters;
};
LoadedModel open_model(const std::string& folder);

}  // namespace skep
