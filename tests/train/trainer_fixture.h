#pragma once
// A small run inside one process: N ranks as threads, parts built from a configuration as the
// program builds them, observers that record.
#include <filesystem>
#include <string>
#include <vector>

#include "engine/core/files.h"
#include "mpi_comm/thread_communicator.h"
#include "synthetic_text.h"
#include "train/build.h"
#include "train/build_sync.h"

namespace skep::test {

/// A folder that goes away with the object.
struct ScratchFolder {
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "skep-XXXXXX").string();
    check(mkdtemp(name.data()) != nullptr, "no scratch folder");
    path = name;
  }
  ~ScratchFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

struct Recorder final : Observer {
  std::vector<StepReport>& steps;
  std::vector<double>& validations;
  std::vector<std::string>& messages;
  Recorder(std::vector<StepReport>& s, std::vector<double>& v, std::vector<std::string>& m)
      : steps(s), validations(v), messages(m) {}
  void on_step(const StepReport& report) override { steps.push_back(report); }
  void on_validation(std::int64_t, double loss) override { validations.push_back(loss); }
  void on_message(const std::string& text) override { messages.push_back(text); }
};

/// What rank 0 saw.
struct Recording {
  std::vector<StepReport> steps;
  std::vector<double> validations;
  std::vector<std::string> messages;
  std::vector<double> final_values;
};

inline Config small_config(const std::string& folder, std::size_t characters = 3001) {
  const std::string text = folder + "/text.txt";
  if (!std::filesystem::exists(text)) write_file(text, synthetic_text(characters));
  Config config;
  config.run.dir = folder + "/run";
  config.run.steps = 20;
  config.run.eval_every = 0;
  config.data.train = text;
  config.data.tokenizer = "char";
  config.model.layers = 2;
  config.model.heads = 2;
  config.model.width = 32;
  config.model.context = 16;
  config.batch.global_batch = 12;
  config.comm.hash_every = 1;
  return config;
}

/// Trains on `ranks` ranks; `prepare` may change the parts before the run (also on every rank).
inline Recording train(const Config& config, int ranks, const std::string& resume = "",
                       const std::function<void(Parts&)>& prepare = {}) {
  Recording recording;
  run_ranks(ranks, [&](Communicator& comm) {
    prepare_wires(config, comm);
    Parts parts = build_parts(config, comm);
    if (prepare) prepare(parts);
    Trainer trainer(parts, build_limits(config));
    std::vector<std::string> told;
    if (!resume.empty()) told = trainer.resume(resume);
    trainer.checkpoint_bytes();  // as the program asks before it starts
    if (comm.rank() == 0) recording.messages = told;
    if (comm.rank() == 0)
      parts.observers.push_back(
          std::make_unique<Recorder>(recording.steps, recording.validations, recording.messages));
    trainer.run();
    if (comm.rank() == 0) recording.final_values = to_doubles(parts.parameters->values());
  });
  return recording;
}

}  // namespace skep::test
