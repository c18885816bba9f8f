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
#include "train/checkpoint/checkpointer.h"
#include "train/version.h"

namespace skep {
namespace {

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

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

// What a run writes into its folder: what a new run in the same folder moves out of its way.
std::vector<std::string> own_files(const std::string& folder) {
  std::vector<std::string> names{"config.toml", "env.json", "metrics.jsonl", "ckpt"};
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    if (const std::string name = entry.path().filename().string(); name.starts_with("log.rank-"))
      names.push_back(name);
  return names;
}

// Fails now rather than at the first save.
void try_writing(const std::string& folder) {
  make_directories(folder);
  const std::string probe = folder + "/.writable";
  write_file(probe, "");
  std::error_code ignored;
  fs::remove(probe, ignored);
}

}  // namespace

RunLock::RunLock(const std::string& folder) {
  make_directories(folder);
  const std::string path = folder + "/lock";
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    fail(ErrorKind::storage, "{}: cannot be opened for writing: {}", path, std::strerror(errno));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail(ErrorKind::usage,
         "{} is in use by another run that has not ended: choose another run.name or run.dir",
         folder);
}

RunLock::~RunLock() { close(descriptor_); }

void prepare_run_folder(const Config& config, std::int64_t first_step,
                        const Environment& environment, const std::string& command_line) {
  const std::string folder = run_directory(config), checkpoints = checkpoint_directory(config);
  if (first_step == 0) move_to_previous(folder, own_files(folder));
  // A run that goes back in time leaves a branch behind: its checkpoints, and the metrics they fit.
  const std::string aside = set_aside_later(checkpoints, first_step == 0 ? -1 : first_step);
  std::error_code ignored;
  if (!aside.empty() && first_step > 0)
    fs::copy_file(folder + "/metrics.jsonl", aside + "/metrics.jsonl", ignored);
  try_writing(checkpoints);
  write_file(folder + "/config.toml", print_config(config));
  write_file(folder + "/env.json", environment_json(environment, command_line));
}

}  // namespace skep
