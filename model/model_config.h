#pragma once
// What a model is: everything needed to build it, nothing about training it.
#include <cstdint>
#include <string>

namespace skep {

struct ModelConfig {
  std::string arch = "gpt2";
  std::int64_t layers = 4, heads = 4, width = 128, context = 64;
  std::int64_t vocab = 0;         ///< ids the tokenizer knows: logits the model gives
  std::int64_t padded_vocab = 0;  ///< rows of the embedding table, >= vocab; the rest stays zero
  double dropout = 0;
  bool bias = true;
  bool tied = true;  ///< head shares the token embedding
};

/// One line naming every size: "gpt2, 4 layers, …".
std::string to_string(const ModelConfig& config);

}  // namespace skep
