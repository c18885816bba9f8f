#include "train/run_folder.h"

#include <fmt/chrono.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/core/error.h"
#include "engine/core/files.h"

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
  json["skep_version"] = SKEP_VERSION;
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

std::string without_end_slash(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

// Nothing of an earlier run is overwritten.
void move_aside(const std::string& folder) {
  for (int k = 1;; ++k) {
    const std::string target = fmt::format("{}.previous-{}", folder, k);
    if (fs::exists(target)) continue;
    std::error_code error;
    fs::rename(folder, target, error);
    if (error)
      fail(ErrorKind::storage, "{}: the earlier run cannot be moved to {}: {}", folder, target,
           error.message());
    return;
  }
}

bool holds_checkpoints(const std::string& folder) {
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    if (entry.path().filename().string().starts_with("step-")) return true;
  return false;
}

}  // namespace

void prepare_run_folder(const Config& config, std::int64_t first_step,
                        const Environment& environment, const std::string& command_line) {
  const std::string folder = without_end_slash(run_directory(config));
  const std::string checkpoints = without_end_slash(checkpoint_directory(config));
  if (first_step == 0) {
    if (fs::exists(folder + "/metrics.jsonl")) move_aside(folder);
    if (holds_checkpoints(checkpoints)) move_aside(checkpoints);
  }
  make_directories(folder);
  write_file(folder + "/config.toml", print_config(config));
  write_file(folder + "/env.json", environment_json(environment, command_line));
}

}  // namespace skep
