#include "train/checkpoint/saved_model.h"

#include "train/checkpoint/chain.h"
#include "train/checkpoint/content.h"

namespace skep {

SavedModel open_saved_model(const std::string& given) {
  const std::string folder = find_saved_model(given);
  if (previous_of(given).empty()) return {folder, open_model(folder)};
  if (const auto fault = find_fault(given)) throw at_place(given, *fault);
  return {folder,
          open_model(folder, SafetensorsFolder::of(Chain(given).tensors(model_tensors_file)))};
}

std::string find_saved_model(const std::string& given) {
  if (previous_of(given).empty()) return find_model_folder(given);
  try {
    return Chain(given).model_folder();
  } catch (const Error& error) {
    throw at_place(given, error);
  }
}

}  // namespace skep
