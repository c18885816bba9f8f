#include "train/run_folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "train/checkpoint/folder.h"
#include "train/checkpoint/room.h"
#include "train/placement.h"
#include "train/version.h"

namespace skep {
namespace {

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string environment_json(const Environment& environment, const std::string& command_line) {
  nlohmann::ordered_json json;
  json["skep_version"] = version();
  json["compiler"] = __VERSION__;
  json["started"] = now();
  json["command"] = command_line;
  json["ranks"] = environment.size();
  json["ranks_on_this_host"] = environment.local_size();
  json["host"] = environment.host();
  json["processor"] = processor_name();
  json["processors"] = std::thread::hardware_concurrency();
  return json.dump(2) + "\n";
}

namespace fs = std::filesystem;

// Files that each rank has one of, such as log.rank-0.
std::vector<std::string> files_of_ranks(const std::string& folder, const std::string& kind) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    if (const std::string name = entry.path().filename().string();
        name.starts_with(kind + ".rank-"))
      names.push_back(name);
  return names;
}

// What moves out of the way of a run. From step 0: all that an earlier one wrote. Later: only its
// records of a stall or an error, which shall not mix with those of another.
std::vector<std::string> files_in_the_way(const std::string& folder, std::int64_t first_step) {
  std::vector<std::string> names = files_of_ranks(folder, "flight");
  for (std::string& name : files_of_ranks(folder, "bad_batch")) names.push_back(std::move(name));
  if (first_step > 0) return names;
  for (const char* kind : {"log", "heartbeat"})
    for (std::string& name : files_of_ranks(folder, kind)) names.push_back(std::move(name));
  for (const char* name : {"config.toml", "env.json", "metrics.jsonl", "metrics.csv",
                           "lr_history.csv", "tensorboard", "ckpt"})
    names.push_back(name);
  return names;
}

// What a run writes besides checkpoints, roughly: a disk without room for it is full.
constexpr std::size_t probe_bytes = 32 << 10;

// Fails now rather than at the first save, and before anything is moved. Of a folder that is still
// missing, the place where it will be made is tried.
void try_writing(const std::string& folder) {
  const std::string existing = nearest_existing(folder);
  std::error_code unknown;
  if (!fs::is_directory(existing, unknown))
    fail(ErrorKind::storage, "cannot write to {}: {} is a file, not a directory", folder, existing);
  const std::string probe = existing + "/.writable";
  write_file(probe, std::string(probe_bytes, ' '));
  std::error_code ignored;
  fs::remove(probe, ignored);
}

}  // namespace

RunLock::RunLock(const std::string& folder, const std::string& keys) {
  make_directories(folder);
  const std::string path = folder + "/lock";
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    fail(ErrorKind::storage, "{}: cannot be opened for writing: {}", path,
         describe_write_error(errno));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail(ErrorKind::usage, "{} is in use by another run that has not ended: choose another {}",
         folder, keys);
}

RunLock::~RunLock() { close(descriptor_); }

std::string prepare_run_folder(const Config& config, std::int64_t first_step,
                               double checkpoint_bytes, const Environment& environment,
                               const std::string& command_line) {
  const std::string folder = run_directory(config), checkpoints = checkpoint_directory(config);
  for (const std::string& written : {folder, checkpoints}) try_writing(written);
  const std::int64_t last_kept = first_step == 0 ? -1 : first_step;
  const std::int64_t added =
      added_checkpoints(config, first_step, count_checkpoints(checkpoints, last_kept));
  const std::string lack =
      find_lack_of_room(checkpoints, free_bytes(checkpoints), checkpoint_bytes, added);
  move_to_previous(folder, files_in_the_way(folder, first_step));
  // A run that goes back in time leaves a branch behind: its checkpoints, and the metrics they fit.
  const std::string aside = set_aside_later(checkpoints, last_kept);
  std::error_code ignored;
  if (!aside.empty() && first_step > 0)
    fs::copy_file(folder + "/metrics.jsonl", aside + "/metrics.jsonl", ignored);
  make_directories(checkpoints);
  write_file(folder + "/config.toml", print_config(config));
  write_file(folder + "/env.json", environment_json(environment, command_line));
  return lack;
}

}  // namespace skep
