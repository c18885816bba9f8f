#pragma once
// The weights of a Hugging Face style folder, in one file (model.safetensors) or in shards that
// model.safetensors.index.json lists: {"metadata": {…}, "weight_map": {tensor: shard file}}.
#include "model/hf/safetensors.h"

namespace skep {

class SafetensorsFolder {
 public:
  /// Error(data) when neither file exists, a shard is missing or unreadable, or a tensor is not in
  /// the shard its index entry names.
  static SafetensorsFolder open(const std::filesystem::path& folder);
  /// A folder of this file only.
  static SafetensorsFolder of(SafetensorsFile file);

  /// Tensor name -> tensor, pointing into the open shards.
  const std::map<std::string, const StoredTensor*, std::less<>>& tensors() const {
    return tensors_;
  }
  /// The tensor called `name`, or nullptr.
  const StoredTensor* find(std::string_view name) const;

 private:
  std::map<std::string, SafetensorsFile> shards_;  // by file name; nodes never move
  std::map<std::string, const StoredTensor*, std::less<>> tensors_;
};

}  // namespace skep
