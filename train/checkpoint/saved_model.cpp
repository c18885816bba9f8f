#include "train/checkpoint/saved_model.h"

#include <filesystem>

#include "train/checkpoint/chain.h"
#include "train/checkpoint/content.h"
#include "train/checkpoint/manifest.h"

namespace skep {
namespace {

namespace fs = std::filesystem;

// The manifest of a whole checkpoint lies above its model; a model from elsewhere has none.
void require_intact(const std::string& model_folder) {
  fs::path folder = fs::absolute(model_folder).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  const std::string checkpoint = folder.parent_path().string();
  if (folder.filename() != "model" || !fs::exists(checkpoint + "/manifest.json")) return;
  if (const std::string damage = find_damage(checkpoint, "model/"); !damage.empty())
    fail(ErrorKind::data, "{}: {}; use another checkpoint", checkpoint, damage);
}

}  // namespace

SavedModel open_saved_model(const std::string& given) {
  const std::string folder = find_saved_model(given);
  if (previous_of(given).empty()) {
    require_intact(folder);
    return {folder, open_model(folder)};
  }
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
