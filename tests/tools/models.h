#pragma once
// Models for the tools' tests: one with random weights, and those that PyTorch computed
// (tests/parity/README.md), as folders.
#include <string>

#include "engine/core/random.h"
#include "model/hf/model_folder.h"
#include "tests/model/gpt2_reference.h"
#include "tests/train/helpers.h"

namespace skep {

inline ModelConfig small_config(std::int64_t vocab, std::int64_t context) {
  ModelConfig config;
  config.layers = 2;
  config.heads = 2;
  config.width = 16;
  config.context = context;
  config.vocab = vocab;
  config.padded_vocab = vocab;
  return config;
}

/// Weights large enough that the next token depends on all earlier ones.
inline LoadedModel random_model(const ModelConfig& config) {
  LoadedModel made;
  made.model = make_model(config);
  made.parameters = std::make_unique<ParameterStore>(*made.model, 1);
  for (const ParameterStore::Entry& entry : made.parameters->list()) {
    if (entry.shape.rank() < 2) continue;
    float* values = entry.value.data<float>();
    for (std::int64_t i = 0; i < entry.shape.numel(); ++i)
      values[i] = 0.3F * static_cast<float>(random_normal(derive_key(5, entry.path), i));
  }
  return made;
}

/// The elements of an int32 tensor.
inline std::vector<std::int32_t> to_ids(const Tensor& tensor) {
  const auto* ids = tensor.data<std::int32_t>();
  return {ids, ids + tensor.numel()};
}

/// The sizes of gpt2_tiny and gpt2_tiny_nobias.
constexpr std::int64_t reference_vocab = 61, reference_context = 16, reference_sequences = 3,
                       reference_length = 13;

/// Writes a reference's weights and a config.json, in the words of Hugging Face.
inline void write_reference_model(const test::Reference& reference, const std::string& folder,
                                  const std::string& bias) {
  std::vector<StoredTensor> weights;
  for (const StoredTensor& tensor : reference.file.tensors())
    if (tensor.name.starts_with("transformer.")) weights.push_back(tensor);
  write_safetensors(folder + "/model.safetensors", weights);
  write_file(folder + "/config.json",
             R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 32, "n_positions": 16,
                 "vocab_size": 61, "bias": )" +
                 bias + "}");
}

}  // namespace skep
