// Settings that were changed and change nothing, as another one that they belong to is off. They
// are told and not refused: a file of settings may serve runs with and without.
#include <fmt/format.h>

#include <algorithm>

#include "train/config.h"

namespace skep {
namespace {

// Of the run, or of one of its phases.
template <class Has>
bool ever(const Config& config, Has has) {
  if (config.phases.empty()) return has(config);
  return std::any_of(config.phases.begin(), config.phases.end(),
                     [&](const PhaseEntry& phase) { return has(during_phase(config, phase)); });
}

}  // namespace

std::vector<std::string> find_idle_settings(const Config& config) {
  const Config usual;
  std::vector<std::string> found;
  const auto look = [&](bool used, bool changed, const char* key, const char* needs) {
    if (!used && changed) found.push_back(fmt::format("{} has no effect without {}", key, needs));
  };
  const LossSection &loss = config.loss, &usual_loss = usual.loss;
  const bool adaptive = loss.view_weighting == "adaptive";
  look(adaptive, loss.temperature != usual_loss.temperature, "loss.temperature",
       "loss.view_weighting adaptive");
  look(adaptive, loss.ema != usual_loss.ema, "loss.ema", "loss.view_weighting adaptive");

  const CompressSection &compress = config.compress, &usual_compress = usual.compress;
  const bool blocks = compress.codec.find("int") != compress.codec.npos;
  look(compress.codec.starts_with("topk"), compress.density != usual_compress.density,
       "compress.density", "a topk codec");
  look(blocks, compress.block != usual_compress.block, "compress.block", "an int8 or int4 codec");
  look(compress.codec != "none", compress.error_feedback != usual_compress.error_feedback,
       "compress.error_feedback", "a compress.codec");

  const SyncSection &sync = config.sync, &usual_sync = usual.sync;
  const bool periods = ever(config, [](const Config& c) { return c.sync.rule != "every_step"; });
  const bool diloco = ever(config, [](const Config& c) { return c.sync.rule == "diloco"; });
  look(periods, sync.period != usual_sync.period, "sync.period", "another sync.rule");
  look(diloco, sync.outer_lr != usual_sync.outer_lr, "sync.outer_lr", "sync.rule diloco");
  look(diloco, sync.outer_momentum != usual_sync.outer_momentum, "sync.outer_momentum",
       "sync.rule diloco");

  look(config.data.sharding == "chaos", config.data.chaos_seed != usual.data.chaos_seed,
       "data.chaos_seed", "data.sharding chaos");
  look(has_cycles(config.schedule), config.schedule.cycle_mult != usual.schedule.cycle_mult,
       "schedule.cycle_mult", "schedule.kind warm_restarts or step");
  look(config.checkpoint.kind == "base_diff",
       config.checkpoint.max_diffs != usual.checkpoint.max_diffs, "checkpoint.max_diffs",
       "checkpoint.kind base_diff");
  return found;
}

}  // namespace skep
