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

/// Fills fields from a state.json and the tensors that belong to it; Error(data) names one that is
/// missing or misshapen.
std::unique_ptr<Archive> make_loading_archive(const std::string& numbers_path,
                                              SafetensorsFile tensors);

}  // namespace skep
