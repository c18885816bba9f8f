#pragma once
// The step that is measured: batch, loss, backward, norm, AdamW through the same Module, op and
// Tape as the train binary's, without communication.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/optim/optimizer.h"
#include "model/language_model.h"
#include "model/parameter_store.h"

namespace skep {

/// A size people know. Batch and tokens are those of one step.
struct BenchPreset {
  std::string name;
  std::int64_t layers, heads, width, vocab, padded_vocab, batch, tokens;
};

/// small, mid, gpt64, gpt256; tiny, to see that all works; gpt1024, which only a GPU does in a
/// moment.
const std::vector<BenchPreset>& bench_presets();
/// Error(usage) listing the names for an unknown one.
const BenchPreset& find_preset(const std::string& name);

/// The named one; without a name all that the device does in a moment.
std::vector<BenchPreset> chosen_presets(const std::string& name, Device device = {});

class TrainingStep {
 public:
  TrainingStep(const BenchPreset& preset, DType compute = DType::f32, Device device = {});
  /// One step on the preset's fixed batch; returns the mean loss before it.
  double run();
  /// Multiplications and additions of one step: 6 per weight and token, attention's causal half,
  /// the head once.
  double flops() const;

 private:
  BenchPreset preset_;
  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<ParameterStore> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  Tensor inputs_, targets_;
};

/// Seconds of each of `runs` calls, after `warmup` uncounted ones.
template <class F>
std::vector<double> time_runs(int warmup, int runs, F f);

double seconds_now();
double median(std::vector<double> values);

template <class F>
std::vector<double> time_runs(int warmup, int runs, F f) {
  for (int i = 0; i < warmup; ++i) f();
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i) {
    const double start = seconds_now();
    f();
    seconds.push_back(seconds_now() - start);
  }
  return seconds;
}

}  // namespace skep
