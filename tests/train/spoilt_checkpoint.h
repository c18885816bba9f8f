#pragma once
// Spoils the state of a checkpoint on purpose, field by field, and signs it anew, so that only the
// wrong value can be what a resumed run notices.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/core/files.h"
#include "model/hf/safetensors.h"
#include "train/checkpoint/content.h"
#include "train/checkpoint/manifest.h"
#include "train/hash.h"

namespace skep::test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Where the state stands: in one folder, or in one of each rank.
inline std::vector<std::string> state_folders(const std::string& checkpoint) {
  if (fs::exists(checkpoint + "/state.json")) return {checkpoint};
  std::vector<std::string> folders;
  while (fs::exists(checkpoint + "/" + rank_folder(static_cast<int>(folders.size()))))
    folders.push_back(checkpoint + "/" + rank_folder(static_cast<int>(folders.size())));
  return folders;
}

inline Json numbers_of(const std::string& folder) {
  return Json::parse(read_file(folder + "/state.json"));
}

/// Writes a manifest that fits the files as they are now.
inline void sign_again(const std::string& checkpoint, int step) {
  fs::remove(checkpoint + "/manifest.json");
  WrittenFiles files;
  for (const auto& entry : fs::recursive_directory_iterator(checkpoint)) {
    if (!entry.is_regular_file()) continue;
    const MappedFile file(entry.path().string());
    files.parts.push_back({fs::relative(entry.path(), checkpoint).string(), 0, file.bytes().size(),
                           hash_bytes(file.bytes())});
  }
  write_manifest(checkpoint, step, files);
}

struct Field {
  std::string name;
  enum class Kind { number, tensor } kind;
};

inline std::vector<Field> fields_of(const std::string& checkpoint) {
  const std::string folder = state_folders(checkpoint).front();
  std::vector<Field> fields;
  const Json numbers = numbers_of(folder);
  for (const auto& [name, value] : numbers.items()) fields.push_back({name, Field::Kind::number});
  const auto file = SafetensorsFile::open(folder + "/state.safetensors");
  for (const StoredTensor& t : file.tensors()) fields.push_back({t.name, Field::Kind::tensor});
  return fields;
}

// Other elements for one tensor of a state folder, made from those it has.
inline void change_tensor(
    const std::string& folder, const std::string& name,
    const std::function<std::vector<std::byte>(std::vector<std::byte>)>& change) {
  const std::string path = folder + "/state.safetensors";
  const auto file = SafetensorsFile::open(path);
  std::vector<StoredTensor> tensors = file.tensors();
  std::vector<std::byte> changed;
  for (StoredTensor& t : tensors) {
    if (t.name != name) continue;
    changed = change({t.data.begin(), t.data.end()});
    t.data = changed;
  }
  write_safetensors(path, tensors);
}

// Gives the field of every rank its value in `donor`, or 0 where the donor has no such field.
inline void transplant(const Field& field, const std::string& donor,
                       const std::string& checkpoint) {
  const auto from = state_folders(donor), into = state_folders(checkpoint);
  for (std::size_t i = 0; i < into.size(); ++i) {
    const std::string& source = from[std::min(i, from.size() - 1)];
    if (field.kind == Field::Kind::number) {
      Json numbers = numbers_of(into[i]);
      const Json first = numbers_of(source);
      numbers.at(field.name) = first.value(field.name, Json(0));
      write_file(into[i] + "/state.json", numbers.dump());
    } else {
      const auto file = SafetensorsFile::open(source + "/state.safetensors");
      const StoredTensor* first = file.find(field.name);
      change_tensor(into[i], field.name, [&](std::vector<std::byte> own) {
        return first ? std::vector<std::byte>(first->data.begin(), first->data.end())
                     : std::vector<std::byte>(own.size());
      });
    }
  }
}

inline void change_number(const std::string& checkpoint, const std::string& name,
                          const std::function<Json(const Json&)>& change) {
  for (const std::string& folder : state_folders(checkpoint)) {
    Json numbers = numbers_of(folder);
    numbers.at(name) = change(numbers.at(name));
    write_file(folder + "/state.json", numbers.dump());
  }
}

}  // namespace skep::test
