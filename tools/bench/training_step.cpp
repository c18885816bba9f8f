#include "tools/bench/training_step.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "engine/autograd/tape.h"
#include "engine/backends/backend.h"
#include "engine/kernels/copy.h"
#include "train/clip.h"

namespace skep {
namespace {

ModelConfig config_of(const BenchPreset& p) {
  ModelConfig c;
  c.layers = p.layers;
  c.heads = p.heads;
  c.width = p.width;
  c.context = p.tokens;
  c.vocab = p.vocab;
  c.padded_vocab = p.padded_vocab;
  return c;
}

Tensor fixed_ids(const BenchPreset& p, std::int64_t factor, std::int64_t shift) {
  std::vector<std::int32_t> ids(p.batch * p.tokens);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>((static_cast<std::int64_t>(i) * factor + shift) % p.vocab);
  return tensor_of(ids, {p.batch, p.tokens});
}

}  // namespace

const std::vector<BenchPreset>& bench_presets() {
  static const std::vector<BenchPreset> presets = {
      {"tiny", 1, 2, 32, 65, 65, 2, 16},
      {"small", 4, 4, 128, 65, 65, 12, 64},
      {"mid", 6, 6, 384, 65, 65, 16, 256},
      {"gpt64", 12, 12, 768, 50257, 50304, 4, 64},
      {"gpt256", 12, 12, 768, 50257, 50304, 4, 256},
      {"gpt1024", 12, 12, 768, 50257, 50304, 32, 1024},
  };
  return presets;
}

const BenchPreset& find_preset(const std::string& name) {
  std::vector<std::string> names;
  for (const BenchPreset& preset : bench_presets()) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  fail(ErrorKind::usage, "preset {} is not known; there are {}", name, fmt::join(names, ", "));
}

std::vector<BenchPreset> chosen_presets(const std::string& name, Device device) {
  if (!name.empty()) return {find_preset(name)};
  const bool on_cpu = device.kind == Device::Kind::cpu;
  std::vector<BenchPreset> chosen = bench_presets();
  std::erase_if(chosen, [&](const BenchPreset& p) {
    return p.name == "tiny" || (p.name == "gpt1024" && on_cpu);
  });
  return chosen;
}

TrainingStep::TrainingStep(const BenchPreset& preset, DType compute, Device device)
    : preset_(preset),
      model_(make_model(config_of(preset))),
      parameters_(std::make_unique<ParameterStore>(*model_, 1, DType::f32, compute, device)),
      optimizer_(make_adamw({0.9, 0.95, 1e-8, 0.1}, parameters_->working_values())),
      inputs_(fixed_ids(preset, 7919, 1)),
      targets_(fixed_ids(preset, 104729, 7)) {}

double TrainingStep::run() {
  const double count = static_cast<double>(inputs_.numel());
  parameters_->clear_gradients();
  std::optional<PendingValues> loss;
  {
    Tape tape;
    const Tensor total = model_->loss(inputs_, targets_, Pass{Pass::Mode::train});
    loss.emplace(total);
    tape.backward(total);
  }
  Clip clip(parameters_->working_grads(), count, 1.0);
  optimizer_->update(parameters_->working_values(), parameters_->working_grads(),
                     parameters_->decay_ranges(), 1e-3, clip.factor());
  parameters_->commit();
  check(clip.finite(), "bench: the gradient is not finite");  // waits for the update's gradients
  return loss->value() / count;
}

double TrainingStep::flops() const {
  const auto& p = preset_;
  const double tokens = static_cast<double>(p.batch * p.tokens);
  const double weights = static_cast<double>(12 * p.layers * p.width * p.width + p.vocab * p.width);
  // Two products forward, five backward (the scores are computed again), half of each is masked.
  const double attention = 7.0 * static_cast<double>(p.layers * p.width * p.tokens) * tokens;
  return 6 * weights * tokens + attention;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  check(!values.empty(), "median of nothing");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace skep
