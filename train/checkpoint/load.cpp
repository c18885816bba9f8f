#include "train/checkpoint/load.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "model/hf/model_folder.h"
#include "model/hf/safetensors.h"
#include "train/checkpoint/chain.h"
#include "train/checkpoint/folder.h"
#include "train/checkpoint/meeting_archive.h"
#include "train/checkpoint/origins.h"
#include "train/checkpoint/state_archive.h"

namespace skep {
namespace {

namespace fs = std::filesystem;
using Of = FieldOrigin::Of;

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
           found.front());
}

// What each rank has of its own in a checkpoint besides weights and moments, for people.
std::set<std::string_view> own_state_in(const SafetensorsFile& file) {
  std::set<std::string_view> parts;
  for (const StoredTensor& t : file.tensors())
    if (const FieldOrigin* origin = origin_of(t.name); origin && origin->of == Of::each_rank)
      parts.insert(origin->what);
  return parts;
}

int count_rank_states(const fs::path& checkpoint) {
  int ranks = 0;
  while (fs::exists(checkpoint / rank_folder(ranks))) ++ranks;
  return ranks;
}

[[noreturn]] void refuse_ranks(const std::string& checkpoint, std::size_t states,
                               const std::string& own) {
  fail(ErrorKind::data,
       "{}: each of its {} ranks has state of its own ({}): resume with {} ranks, or from a "
       "checkpoint saved where all ranks had met, without residuals",
       checkpoint, states, own, states);
}

}  // namespace

std::vector<std::string> load_checkpoint(const std::string& checkpoint,
                                         const CheckpointContent& content) {
  require_checkpoint(checkpoint);
  if (const auto fault = find_fault(checkpoint))
    fail(fault->kind(), "{}: cannot resume from this checkpoint: {}", checkpoint, fault->what());
  const Chain chain(checkpoint);
  const auto state = [&](const std::string& folder) {
    return make_loading_archive(checkpoint + "/" + folder + state_numbers,
                                chain.tensors(folder + state_tensors));
  };
  const std::string model = chain.model_folder();
  const ModelConfig saved = read_model_config(model);
  require_same_model(checkpoint, saved, content.model.config());
  load_weights(SafetensorsFolder::of(chain.tensors(model_tensors_file)), model, saved,
               content.parameters);
  const int states = count_rank_states(checkpoint);
  if (states == 0) {
    const auto archive = state("");
    content.archive(*archive);
    content.parameters.working_values();  // the objective's own were read into these
    content.parameters.commit();
    return archive->notes();
  }
  MeetingArchive::States all;
  const auto read_own = [&](int rank) { all.push_back(state(rank_folder(rank) + "/")); };
  if (states == content.ranks) {
    read_own(content.rank);
    archive_own_state(content, *all.front());
  } else {
    const auto own = own_state_in(chain.tensors(rank_folder(0) + "/" + state_tensors));
    if (!own.empty())
      refuse_ranks(checkpoint, static_cast<std::size_t>(states),
                   fmt::format("{}", fmt::join(own, ", and ")));
    for (int rank = 0; rank < states; ++rank) read_own(rank);
    MeetingArchive meeting(all,
                           [&] { refuse_ranks(checkpoint, all.size(), "weights that are apart"); });
    archive_own_state(content, meeting);
  }
  content.parameters.commit();
  return all.front()->notes();
}

}  // namespace skep
