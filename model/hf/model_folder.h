#pragma once
// A model as a Hugging Face style folder: config.json and model.safetensors. What is written here
// loads in transformers, and published GPT-2 folders load here.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/hf/safetensors.h"
#include "model/hf/safetensors_index.h"
#include "model/language_model.h"
#include "model/parameter_store.h"

namespace skep {

/// An array of a file to be written: what the header says, and its elements once they are needed
/// (contiguous, of that type and shape).
struct TensorSource {
  TensorLayout layout;
  std::function<Tensor()> elements;
};

/// What model.safetensors holds of these parameters, and the metadata it says so with.
std::vector<TensorSource> model_tensors(const ModelConfig& config,
                                        const ParameterStore& parameters);
Metadata model_metadata();

/// Writes both files into an existing folder. Error(storage) when a write fails.
void save_model(const std::string& folder, const ModelConfig& config,
                const ParameterStore& parameters);

/// `given`, or its subfolder "model" (a checkpoint); Error(data) when neither holds a config.json.
std::string find_model_folder(const std::string& given);

ModelConfig read_model_config(const std::string& folder);

/// Fills the store; Error(data) for a missing, misshapen or surplus tensor, by name.
void load_weights(const std::string& folder, const ModelConfig& config, ParameterStore& parameters);
/// The same with weights from elsewhere; the folder only serves the messages.
void load_weights(SafetensorsFolder weights, const std::string& folder, const ModelConfig& config,
                  ParameterStore& parameters);

struct LoadedModel {
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<ParameterStore> parameters;
};
LoadedModel open_model(const std::string& folder);
/// The folder's config.json with weights from elsewhere.
LoadedModel open_model(const std::string& folder, SafetensorsFolder weights);

}  // namespace skep
