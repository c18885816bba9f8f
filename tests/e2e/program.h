#pragma once
// Starts a program as a user would and collects how it ended.
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "engine/core/files.h"
#include "trainer_fixture.h"

namespace skep::test {

struct Ending {
  int code = -1;
  std::string out, err;
  double seconds = 0;
};

inline Ending run_program(const std::string& command, const ScratchFolder& scratch) {
  const std::string out = scratch.path + "/stdout", err = scratch.path + "/stderr";
  const auto start = std::chrono::steady_clock::now();
  const int status =
      std::system(("timeout 120 " + command + " >" + out + " 2>" + err + " </dev/null").c_str());
  Ending ending;
  ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ending.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ending.out = read_file(out);
  ending.err = read_file(err);
  return ending;
}

/// `mpirun -np ranks build/bin/NAME ARGUMENTS`; mpirun's own banners are silenced.
inline Ending run_ranked(int ranks, const std::string& arguments, const ScratchFolder& scratch) {
  return run_program(std::string(MPIEXEC) + " -q -np " + std::to_string(ranks) + " " +
                         SKEP_BINARIES + "/" + arguments,
                     scratch);
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

inline std::vector<nlohmann::json> metrics_of(const std::string& run) {
  std::vector<nlohmann::json> rows;
  for (const std::string& line : lines_of(read_file(run + "/metrics.jsonl")))
    rows.push_back(nlohmann::json::parse(line));
  return rows;
}

/// The flags of a model that trains in a second, on a text this writes.
inline std::string small_run(const ScratchFolder& scratch, const std::string& run,
                             std::int64_t steps) {
  const std::string text = scratch.path + "/text.txt";
  if (!std::filesystem::exists(text)) write_file(text, synthetic_text(3001));
  return "train --data.train " + text +
         " --data.tokenizer char --model.layers 2 --model.heads 2 --model.width 32" +
         " --model.context 16 --batch.global_batch 12 --run.eval_every 0 --run.steps " +
         std::to_string(steps) + " --run.dir " + scratch.path + "/" + run;
}

}  // namespace skep::test
