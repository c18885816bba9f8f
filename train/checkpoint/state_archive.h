#pragma once
// The two archives of a checkpoint folder: numbers go to state.json, tensors to state.safetensors.
#include <memory>
#include <string>

#include "engine/core/archive.h"

namespace skep {

/// Collects fields; finish() writes both files.
class SavingArchive : public Archive {
 public:
  virtual void finish() = 0;
};
std::unique_ptr<SavingArchive> make_saving_archive(const std::string& folder);

/// Fills fields; Error(data) names one that is missing or misshapen.
std::unique_ptr<Archive> make_loading_archive(const std::string& folder);

}  // namespace skep
