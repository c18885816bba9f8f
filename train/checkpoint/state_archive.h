#pragma once
// The two archives of a checkpoint folder: numbers go to state.json, tensors to state.safetensors.
#include <memory>
#include <string>
#include <vector>

#include "engine/core/archive.h"
#include "model/hf/model_folder.h"

namespace skep {

/// Notes fields for saving; tensors are read later, when their elements are asked for.
class CollectingArchive : public Archive {
 public:
  virtual std::string numbers() const = 0;  ///< the text of state.json
  virtual const std::vector<TensorSource>& tensors() const = 0;
};
std::unique_ptr<CollectingArchive> make_collecting_archive();

/// Fills fields from a state.json and the tensors that belong to it. One that is missing stays as
/// it is where a run may go on without it; else Error(data) names it, as one that is misshapen.
class LoadingArchive : public Archive {
 public:
  /// After all fields: what was missing, and what nobody asked for.
  virtual std::vector<std::string> notes() = 0;
};
std::unique_ptr<LoadingArchive> make_loading_archive(const std::string& numbers_path,
                                                     SafetensorsFile tensors);

}  // namespace skep
