#pragma once
// Runs that save after every step as differences, and what their folders hold.
#include <filesystem>
#include <set>
#include <string>

#include "train/checkpoint/chain.h"
#include "train/checkpoint/folder.h"
#include "trainer_fixture.h"

namespace skep::test {

inline Config base_diff_config(const std::string& folder, std::int64_t steps,
                               std::int64_t max_diffs) {
  Config config = small_config(folder);
  config.run.steps = steps;
  config.batch.micro_batch = 2;
  config.checkpoint.every = 1;
  config.checkpoint.keep = 100;
  config.checkpoint.kind = "base_diff";
  config.checkpoint.max_diffs = max_diffs;
  config.checkpoint.dir = folder + "/ckpt";
  return config;
}

inline std::string step_folder(const Config& config, int step) {
  return checkpoint_path(config.checkpoint.dir, step);
}

inline bool has_model(const Config& config, int step) {
  return std::filesystem::exists(step_folder(config, step) + "/model");
}

inline std::set<int> steps_in(const std::string& folder) {
  std::set<int> steps;
  for (const std::string& path : list_checkpoints(folder))
    steps.insert(std::stoi(path.substr(path.rfind('-') + 1)));
  return steps;
}

/// Bytes of a checkpoint's differences that restore `file`.
inline std::uint64_t packed_bytes(const std::string& checkpoint, const std::string& file) {
  const RestorePlan plan = read_restore_plan(checkpoint);
  std::uint64_t bytes = 0;
  for (const PackedPart& part : plan.packed.at(file)) bytes += part.packed_bytes;
  return bytes;
}

/// Flips a bit of a byte, from the end of the file.
inline void flip_bit(const std::string& path, std::size_t from_the_end = 1) {
  std::string bytes = read_file(path);
  char& byte = bytes.at(bytes.size() - from_the_end);
  byte = static_cast<char>(byte ^ 1);
  write_file(path, bytes);
}

}  // namespace skep::test
