#include "model/hf/safetensors_index.h"

#include <nlohmann/json.hpp>

#include "engine/core/error.h"
#include "model/hf/safetensors_declarations.h"

namespace skep {
namespace {

using nlohmann::json;

/// Parses an index, refusing a tensor listed twice (a document would silently keep the last).
json parse_index(const std::filesystem::path& path) {
  const MappedFile file(path.string());
  const std::string_view text = file.text();
  std::string section;
  std::map<std::string, int> listed;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (event != json::parse_event_t::key) return true;
    if (depth == 1) section = value.get<std::string>();
    if (depth == 2 && section == "weight_map" && ++listed[value.get<std::string>()] > 1) {
      fail(ErrorKind::data, "{}: tensor {} stands twice", path.string(),
           printable(value.get<std::string>()));
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::parse_error& error) {
    fail(ErrorKind::data, "{}: not valid JSON at byte {}", path.string(), error.byte);
  }
}

/// Tensor name -> shard file name. A shard is a plain name: an index cannot reach outside its
/// folder.
std::map<std::string, std::string> read_weight_map(const std::filesystem::path& path) {
  const json index = parse_index(path);
  const auto found = index.is_object() ? index.find("weight_map") : index.end();
  if (found == index.end() || !found->is_object()) {
    fail(ErrorKind::data, "{}: has no object \"weight_map\"", path.string());
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [name, shard] : found->items()) {
    const std::string file = shard.is_string() ? shard.get<std::string>() : "";
    if (file.empty() || file == "." || file == ".." || file.find('/') != file.npos ||
        file.find('\0') != file.npos) {
      fail(ErrorKind::data, "{}: tensor {}: its shard is not the name of a file in this folder",
           path.string(), printable(name));
    }
    shard_of.emplace(name, file);
  }
  return shard_of;
}

}  // namespace

SafetensorsFolder SafetensorsFolder::open(const std::filesystem::path& folder) {
  SafetensorsFolder weights;
  const auto single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
  if (std::filesystem::exists(single)) return of(SafetensorsFile::open(single));
  if (!std::filesystem::exists(index)) {
    fail(ErrorKind::data, "{}: holds neither model.safetensors nor model.safetensors.index.json",
         folder.string());
  }
  for (const auto& [name, shard] : read_weight_map(index)) {
    auto open_shard = weights.shards_.find(shard);
    if (open_shard == weights.shards_.end()) {
      if (!std::filesystem::exists(folder / shard)) {
        fail(ErrorKind::data, "{}: shard {} of tensor {} is missing from the folder",
             index.string(), printable(shard), printable(name));
      }
      open_shard = weights.shards_.emplace(shard, SafetensorsFile::open(folder / shard)).first;
    }
    const StoredTensor* tensor = open_shard->second.find(name);
    if (!tensor) {
      fail(ErrorKind::data, "{}: tensor {} is not in its shard {}", index.string(), printable(name),
           printable(shard));
    }
    weights.tensors_.emplace(name, tensor);
  }
  return weights;
}

SafetensorsFolder SafetensorsFolder::of(SafetensorsFile file) {
  SafetensorsFolder weights;
  const auto& only = weights.shards_.emplace("model.safetensors", std::move(file)).first->second;
  for (const StoredTensor& tensor : only.tensors()) weights.tensors_.emplace(tensor.name, &tensor);
  return weights;
}

const StoredTensor* SafetensorsFolder::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

}  // namespace skep
