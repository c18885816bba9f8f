#pragma once
// What a checkpoint holds, and where: model/ (a Hugging Face folder), then either state.safetensors
// (moments) and state.json (numbers), or these two in a folder rank-R/ of each rank, with its
// weights; and manifest.json (size and hashes of every file), written last. Of the safetensors
// files one that continues another (base_diff.h) holds only differences, in xor.rank-R of the ranks
// that wrote them, and of model/ nothing else.
#include <functional>
#include <string>

#include "engine/core/archive.h"
#include "engine/core/error.h"
#include "model/language_model.h"
#include "model/parameter_store.h"
#include "train/data/tokenizer.h"

namespace skep {

/// The archive function names the state that is not weights.
struct CheckpointContent {
  const LanguageModel& model;
  ParameterStore& parameters;
  const Tokenizer* tokenizer;  ///< or null
  std::function<void(Archive&)> archive;
  int rank = 0, ranks = 1;
  /// What ranks have in common: all, weights but not all state, or nothing (model/ is then the mean
  /// of their weights).
  enum class Replicas { equal, own_state, apart } replicas = Replicas::equal;
};

constexpr const char* model_tensors_file = "model/model.safetensors";
constexpr const char* state_tensors = "state.safetensors";
constexpr const char* state_numbers = "state.json";
inline std::string rank_folder(int rank) { return fmt::format("rank-{}", rank); }

/// Weights travel as they are, master precision included.
inline void archive_own_state(const CheckpointContent& content, Archive& archive) {
  archive.field("weights", content.parameters.values());
  content.archive(archive);
}

}  // namespace skep
