#pragma once
// What checkpoints restore, whole ones or differences, and where two of them are not the same
// bytes.
#include <map>
#include <set>
#include <string>

#include "spoilt_checkpoint.h"
#include "train/checkpoint/chain.h"

namespace skep::test {

/// Bytes by name: "rank-1/state.safetensors weights", "state.json position".
using Restored = std::map<std::string, std::string>;

inline void add_tensors(Restored& all, const Chain& chain, const std::string& file) {
  const SafetensorsFile tensors = chain.tensors(file);
  for (const StoredTensor& t : tensors.tensors()) {
    std::string& bytes = all[file + " " + t.name];
    bytes = fmt::format("{} {}: ", stored_type_name(t.type), fmt::join(t.shape, ","));
    bytes.append(reinterpret_cast<const char*>(t.data.data()), t.data.size());
  }
}

inline Restored restored(const std::string& checkpoint) {
  Restored all;
  const Chain chain(checkpoint);
  add_tensors(all, chain, model_tensors_file);
  for (const std::string& folder : state_folders(checkpoint)) {
    const std::string below =
        folder == checkpoint ? "" : fs::path(folder).filename().string() + "/";
    add_tensors(all, chain, below + state_tensors);
    const Json numbers = numbers_of(folder);
    for (const auto& [name, value] : numbers.items())
      all[below + state_numbers + " " + name] = value.dump();
  }
  return all;
}

/// The names of what only one has, or both have with other bytes.
inline std::set<std::string> differences(const Restored& a, const Restored& b) {
  std::set<std::string> names;
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)})
    for (const auto& [name, bytes] : *one)
      if (const auto found = other->find(name); found == other->end() || found->second != bytes)
        names.insert(name);
  return names;
}

}  // namespace skep::test
