#pragma once
// A checkpoint with all it builds on: itself if it is whole, or the links from its base to it. Each
// link knows the next by name and by the hash of its manifest, which covers all its files: one that
// was replaced is seen before a bit of it is used.
#include <optional>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "model/hf/safetensors.h"
#include "train/checkpoint/manifest.h"

namespace skep {

class Chain {
 public:
  /// Error(data), naming the link, when one is missing or not the one that was continued.
  explicit Chain(const std::string& checkpoint);

  /// The folders of the links, the base first.
  std::vector<std::string> folders() const;
  /// The base's, for what never changes during a run: configuration and tokenizer.
  std::string model_folder() const { return links_.front().folder + "/model"; }
  /// A safetensors file as a whole checkpoint would hold it. Error(data), naming the file, when
  /// it comes out otherwise than it was when it was saved.
  SafetensorsFile tensors(const std::string& file) const;
  std::uint64_t manifest_xxh3() const { return links_.back().plan.xxh3; }

 private:
  struct ChainLink {
    std::string folder;
    RestorePlan plan;
  };
  std::vector<std::byte> restore(std::size_t link, const std::string& file) const;

  std::vector<ChainLink> links_;
};

/// Folder of the checkpoint that this one continues; empty when it continues none, or its manifest
/// cannot be read.
std::string previous_of(const std::string& checkpoint);

/// Why a checkpoint cannot be restored, naming the file and the link: Error(data).
std::optional<Error> find_fault(const std::string& checkpoint);

}  // namespace skep
