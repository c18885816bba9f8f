#include "train/checkpoint/checkpointer.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/core/files.h"
#include "model/hf/model_folder.h"
#include "train/checkpoint/state_archive.h"
#include "train/hash.h"

namespace skep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view step_prefix = "step-", temporary_suffix = ".tmp";

std::string file_hash(const fs::path& path) {
  return fmt::format("{:016x}", hash_bytes(MappedFile(path.string()).bytes()));
}

// Every file below `folder` but the manifest itself, by relative path.
std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().filename() != "manifest.json")
      files.push_back(fs::relative(entry.path(), folder).string());
  std::sort(files.begin(), files.end());
  return files;
}

void write_manifest(const fs::path& folder, std::int64_t step) {
  Json files = Json::object();
  for (const std::string& name : files_below(folder))
    files[name] = {{"bytes", fs::file_size(folder / name)}, {"xxh3", file_hash(folder / name)}};
  const Json manifest = {{"format", 1}, {"step", step}, {"files", files}};
  write_file((folder / "manifest.json").string(), manifest.dump(2) + "\n");
}

// The N of a folder called step-N, or -1.
std::int64_t step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (name.compare(0, step_prefix.size(), step_prefix) != 0) return -1;
  std::int64_t step = -1;
  const char* end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + step_prefix.size(), end, step);
  return result.ec == std::errc() && result.ptr == end ? step : -1;
}

// All checkpoints in `folder`, newest first.
std::vector<fs::path> list_checkpoints(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    if (entry.is_directory() && step_of(entry.path()) >= 0) found.push_back(entry.path());
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return step_of(a) > step_of(b); });
  return found;
}

// Where a checkpoint of the same step exists already the two change places in one operation, so
// that at every moment one of them stands under the name.
void put_in_place(const fs::path& temporary, const fs::path& final) {
  if (fs::exists(final) &&
      renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(temporary);
    return;
  }
  fs::remove_all(final);  // a file system that cannot exchange
  fs::rename(temporary, final);
}

void write_contents(const std::string& folder, const CheckpointContent& content) {
  make_directories(folder + "/model");
  save_model(folder + "/model", content.model.config(), content.parameters);
  if (content.tokenizer) content.tokenizer->save(folder + "/model");
  const auto archive = make_saving_archive(folder);
  content.archive(*archive);
  archive->finish();
}

std::vector<std::string> parts_of(const ModelConfig& config) {
  std::vector<std::string> parts;
  std::istringstream text(to_string(config));
  for (std::string part; std::getline(text >> std::ws, part, ',');) parts.push_back(part);
  return parts;
}

// Two models that differ, in the words that differ.
void require_same_model(const std::string& checkpoint, const ModelConfig& saved,
                        const ModelConfig& configured) {
  const auto old_parts = parts_of(saved), new_parts = parts_of(configured);
  std::vector<std::string> old_words, new_words;
  for (std::size_t i = 0; i < std::min(old_parts.size(), new_parts.size()); ++i)
    if (old_parts[i] != new_parts[i]) {
      old_words.push_back(old_parts[i]);
      new_words.push_back(new_parts[i]);
    }
  if (!old_words.empty())
    fail(ErrorKind::data,
         "{}: the checkpoint's model has {}, the configured one {}: give the settings it was saved "
         "with, or run.resume = \"none\"",
         checkpoint, fmt::join(old_words, ", "), fmt::join(new_words, ", "));
}

// A folder above the checkpoints is an easy slip.
void require_checkpoint(const std::string& path) {
  if (!fs::is_directory(path))
    fail(ErrorKind::data,
         "run.resume: there is no such checkpoint folder: {}; use none, auto, or the path of a "
         "RUN/ckpt/step-N",
         path);
  if (fs::exists(fs::path(path) / "manifest.json")) return;
  for (const std::string& folder : {path, path + "/ckpt"})
    if (const auto found = list_checkpoints(folder); !found.empty())
      fail(ErrorKind::data, "run.resume: {} is not a checkpoint; the newest in it is {}", path,
           found.front().string());
}

fs::path unfinished(const std::string& folder, std::int64_t step) {
  return fs::path(folder) / fmt::format("{}{}{}", step_prefix, step, temporary_suffix);
}

fs::path rank_folder(const fs::path& checkpoint, int rank) {
  return checkpoint / fmt::format("rank-{}", rank);
}

// Weights travel as they are, master precision included.
void archive_rank_state(const CheckpointContent& content, Archive& archive) {
  archive.field("weights", content.parameters.values());
  content.archive(archive);
}

int count_rank_states(const fs::path& checkpoint) {
  int ranks = 0;
  while (fs::exists(rank_folder(checkpoint, ranks))) ++ranks;
  return ranks;
}

}  // namespace

void prepare_checkpoint(const std::string& folder, std::int64_t step) {
  try {
    fs::remove_all(unfinished(folder, step));
    make_directories(unfinished(folder, step).string());
  } catch (const fs::filesystem_error& error) {
    fail(ErrorKind::storage, "{}: checkpoint cannot be written: {}", folder,
         describe_write_error(error.code().value()));
  }
}

void save_rank_state(const std::string& folder, std::int64_t step,
                     const CheckpointContent& content) {
  const std::string own = rank_folder(unfinished(folder, step), content.rank).string();
  make_directories(own);
  const auto archive = make_saving_archive(own);
  archive_rank_state(content, *archive);
  archive->finish();
  sync_directory(own);
}

void save_checkpoint(const std::string& folder, std::int64_t step,
                     const CheckpointContent& content) {
  const fs::path final = fs::path(folder) / fmt::format("{}{}", step_prefix, step);
  const fs::path temporary = unfinished(folder, step);
  if (content.replicas == CheckpointContent::Replicas::shared) prepare_checkpoint(folder, step);
  try {
    write_contents(temporary.string(), content);
    write_manifest(temporary, step);
    sync_directory(temporary.string());
    put_in_place(temporary, final);
    sync_directory(folder);
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);  // half a checkpoint is of no use and fills the disk
    const auto* system = dynamic_cast<const fs::filesystem_error*>(&error);
    if (system == nullptr) throw;
    fail(ErrorKind::storage, "{}: checkpoint cannot be written: {}", final.string(),
         describe_write_error(system->code().value()));
  }
}

void prune_checkpoints(const std::string& folder, std::int64_t keep) {
  std::error_code ignored;  // tidying up must not end a run
  const auto checkpoints = list_checkpoints(folder);
  for (std::size_t i = keep; i < checkpoints.size(); ++i) fs::remove_all(checkpoints[i], ignored);
  std::vector<fs::path> stale;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const fs::path& path = entry.path();
    if (path.extension() == temporary_suffix && step_of(path.parent_path() / path.stem()) >= 0)
      stale.push_back(path);
  }
  for (const fs::path& path : stale) fs::remove_all(path, ignored);
}

std::string set_aside_later(const std::string& folder, std::int64_t step) {
  std::vector<std::string> names;
  for (const fs::path& path : list_checkpoints(folder))
    if (step_of(path) > step) names.push_back(path.filename().string());
  return move_to_previous(folder, names);
}

std::string find_damage(const std::string& checkpoint) {
  const fs::path folder(checkpoint);
  try {
    const Json manifest =
        Json::parse(read_file((folder / "manifest.json").string()), nullptr, false);
    if (!manifest.is_object() || !manifest.contains("files")) return "its manifest.json is damaged";
    for (const auto& [name, file] : manifest.at("files").items()) {
      if (!fs::exists(folder / name)) return name + " is missing";
      if (fs::file_size(folder / name) != file.at("bytes").get<std::uintmax_t>())
        return name + " has the wrong size";
      if (file_hash(folder / name) != file.at("xxh3").get<std::string>())
        return name + " is damaged";
    }
  } catch (const Json::exception&) {
    return "its manifest.json is damaged";
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

void load_checkpoint(const std::string& checkpoint, const CheckpointContent& content) {
  require_checkpoint(checkpoint);
  const std::string damage = find_damage(checkpoint);
  if (!damage.empty())
    fail(ErrorKind::data, "{}: cannot resume from this checkpoint: {}", checkpoint, damage);
  const ModelConfig saved = read_model_config(checkpoint + "/model");
  require_same_model(checkpoint, saved, content.model.config());
  load_weights(checkpoint + "/model", saved, content.parameters);
  const int states = count_rank_states(checkpoint);
  if (states == 0) return content.archive(*make_loading_archive(checkpoint));
  if (states != content.ranks)
    fail(ErrorKind::data,
         "{}: each of its {} ranks has state of its own (weights that were apart, or what a codec had "
         "not sent yet): resume with {} ranks, or from a checkpoint without such state",
         checkpoint, states, states);
  archive_rank_state(content,
                     *make_loading_archive(rank_folder(checkpoint, content.rank).string()));
  content.parameters.commit();
}

std::string newest_checkpoint(const std::string& folder,
                              const std::function<void(const std::string&)>& report) {
  for (const fs::path& path : list_checkpoints(folder)) {
    const std::string damage = find_damage(path.string());
    if (damage.empty()) return path.string();
    report(fmt::format("skipping checkpoint {}: {}", path.string(), damage));
  }
  return {};
}

}  // namespace skep
