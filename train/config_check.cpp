// Checks across keys, and the numbers that follow from several of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/error.h"
#include "mpi_comm/topology.h"
#include "train/config.h"

namespace skep {
namespace {

/// "8 and 16", or "16" alone: the multiples of `unit` around a size that is not one.
std::string nearest_multiples(std::int64_t size, std::int64_t unit) {
  const std::int64_t below = size / unit * unit;
  if (below == 0) return fmt::format("{}", unit);
  return fmt::format("{} and {}", below, below + unit);
}

void check_model(const ModelSection& model) {
  if (model.width % model.heads != 0)
    fail(ErrorKind::usage,
         "model.heads {} does not divide model.width {}; the nearest widths that do are {}",
         model.heads, model.width, nearest_multiples(model.width, model.heads));
}

void check_schedule(const Config& config) {
  if (config.schedule.kind != "constant" && config.optim.min_lr > config.optim.lr)
    fail(ErrorKind::usage, "optim.min_lr {} is larger than optim.lr {}: a decay would rise",
         config.optim.min_lr, config.optim.lr);
  const std::string& kind = config.schedule.kind;
  if ((has_cycles(config.schedule) || kind == "wsd") && config.schedule.cycle == 0)
    fail(ErrorKind::usage, "schedule.kind {} needs a schedule.cycle greater than 0, in {}", kind,
         config.schedule.unit);
  if (config.schedule.unit == "steps" && config.schedule.cycle != std::floor(config.schedule.cycle))
    fail(ErrorKind::usage,
         "schedule.cycle {} must be a whole number of steps, or schedule.unit epochs",
         config.schedule.cycle);
  if (config.schedule.restart_from == "best" && !has_cycles(config.schedule))
    fail(ErrorKind::usage,
         "schedule.restart_from best cannot be had: schedule.kind {} has no cycles that end; use "
         "warm_restarts or step",
         kind);
}

void check_loss(const LossSection& loss) {
  if (loss.task_weighting == "uncertainty" && loss.z_weight == 0)
    fail(ErrorKind::usage,
         "loss.task_weighting uncertainty weighs losses against each other, and there is only one: "
         "set loss.z_weight greater than 0");
}

void check_comm(const CommSection& comm, const std::string& codec) {
  const auto refuse = [](const std::string& one, const std::string& other, const char* why) {
    fail(ErrorKind::usage, "{} cannot be combined with {}: {}; set one of them back", one, other,
         why);
  };
  const bool exact = comm.reduction == "exact";
  if (exact && comm.wire != "fp32")
    refuse("comm.wire " + comm.wire, "comm.reduction exact", "it sends integers");
  if (exact && codec != "none")
    refuse("compress.codec " + codec, "comm.reduction exact", "it sends integers");
  if (comm.wire != "fp32" && codec != "none")
    refuse("comm.wire " + comm.wire, "compress.codec " + codec, "the codec says what is sent");
}

Reach reach_of(const CommSection& comm, std::int64_t ranks) {
  if (comm.topology == "auto") return Reach::global;
  TopologySettings settings;
  settings.cluster_size = static_cast<int>(comm.cluster_size);
  return make_topology(comm.topology, settings)->reach(static_cast<int>(ranks));
}

/// Where ranks meet in part, or now and then, their parameters travel, not their gradients.
void check_meeting(const Config& config, std::int64_t ranks, const std::string& place) {
  const bool partial = reach_of(config.comm, ranks) == Reach::partial;
  const std::string& rule = config.sync.rule;
  if (partial && (rule == "accumulate" || rule == "diloco"))
    fail(ErrorKind::usage,
         "{}sync.rule {} cannot be had: it is for all ranks together, and topology {} groups only "
         "some of the {} at a step; use sync.rule local_sgd",
         place, rule, config.comm.topology, ranks);
  if (!partial && (rule == "every_step" || rule == "accumulate")) return;
  const std::string why =
      partial
          ? fmt::format(
                "topology {} groups only some of the {} ranks at a step, so parameters "
                "are averaged in fp32 and no gradients travel",
                config.comm.topology, ranks)
          : fmt::format("sync.rule {} averages parameters in fp32 and no gradients travel", rule);
  if (config.comm.reduction == "exact")
    fail(ErrorKind::usage, "{}comm.reduction exact cannot be had: {}", place, why);
  if (config.comm.wire != "fp32")
    fail(ErrorKind::usage, "{}comm.wire {} cannot be had: {}", place, config.comm.wire, why);
  if (config.compress.codec != "none")
    fail(ErrorKind::usage, "{}compress.codec {} cannot be had: {}", place, config.compress.codec,
         why);
}

/// Weights of views and of common samples are factors in one sum of gradients over all ranks.
void check_weights(const Config& config, std::int64_t ranks, const std::string& place) {
  const std::string& rule = config.sync.rule;
  const bool sums = rule == "every_step" || rule == "accumulate";
  if (sums && reach_of(config.comm, ranks) == Reach::global) return;
  const std::string alone = fmt::format(
      "ranks train by themselves with sync.rule {} and topology {}", rule, config.comm.topology);
  if (config.loss.view_weighting != "uniform")
    fail(ErrorKind::usage,
         "{}loss.view_weighting adaptive cannot be had: {}, so no rank's loss weighs against "
         "another's",
         place, alone);
  if (config.data.common_fraction > 0)
    fail(ErrorKind::usage,
         "{}data.common_fraction {} cannot be had: {} and divide by their own tokens, so common "
         "samples would weigh as much as the others; set it to 0",
         place, config.data.common_fraction, alone);
}

void check_sharding(const DataSection& data) {
  if (data.sharding == "even" && data.common_fraction > 0)
    fail(ErrorKind::usage,
         "data.common_fraction {} needs data.sharding chaos: with even sharding no sample is met "
         "by two ranks",
         data.common_fraction);
  if (data.sharding == "chaos" && data.drop_last)
    fail(ErrorKind::usage,
         "data.drop_last cannot be combined with data.sharding chaos: a common sample that some "
         "ranks leave out would not count as one; set one of them back");
}

/// Going back to earlier weights needs one set of weights on all ranks, and no gradient that waits.
void check_restarts(const Config& config, std::int64_t ranks, const std::string& place) {
  if (config.schedule.restart_from == "last") return;
  const std::string& rule = config.sync.rule;
  const auto refuse = [&](const std::string& why) {
    fail(ErrorKind::usage,
         "{}schedule.restart_from best cannot be had: {}; use sync.rule every_step and a topology "
         "of all ranks",
         place, why);
  };
  if (rule == "accumulate")
    refuse("with sync.rule accumulate gradients of the old weights may wait where a cycle ends");
  if (rule != "every_step")
    refuse(fmt::format("with sync.rule {} each rank has weights of its own", rule));
  if (reach_of(config.comm, ranks) == Reach::partial)
    refuse(fmt::format("topology {} leaves each rank weights of its own", config.comm.topology));
}

void check_phase(const Config& config, std::int64_t ranks, const std::string& place) {
  check_meeting(config, ranks, place);
  check_weights(config, ranks, place);
  check_restarts(config, ranks, place);
}

void check_phases(const Config& config, std::int64_t ranks) {
  if (config.phases.empty()) return check_phase(config, ranks, "");
  for (std::size_t i = 0; i < config.phases.size(); ++i)
    check_phase(during_phase(config, config.phases[i]), ranks, fmt::format("phase {}: ", i + 1));
}

}  // namespace

void validate(const Config& config, std::int64_t ranks) {
  if (config.data.train.empty())
    fail(ErrorKind::usage,
         "no training data: give --data.train FILE (a text, or a .bin file of tokens)");
  check_model(config.model);
  check_sharding(config.data);
  check_schedule(config);
  check_loss(config.loss);
  check_comm(config.comm, config.compress.codec);
  check_phases(config, ranks);
  const BatchSplit split = split_batch(config.batch, ranks);
  if (config.loss.view_weighting == "adaptive" && split.accumulation > 1 && config.loss.ema == 0)
    fail(ErrorKind::usage,
         "loss.view_weighting adaptive with {} micro-batches a step weighs by past losses: set "
         "loss.ema greater than 0, or batch.micro_batch to 0",
         split.accumulation);
}

BatchSplit split_batch(const BatchSection& batch, std::int64_t ranks) {
  check(ranks >= 1, "split_batch: {} ranks", ranks);
  if (batch.global_batch % ranks != 0)
    fail(ErrorKind::usage,
         "batch.global_batch {} does not divide among {} ranks; the nearest sizes that do are {}",
         batch.global_batch, ranks, nearest_multiples(batch.global_batch, ranks));
  const std::int64_t share = batch.global_batch / ranks;
  const std::int64_t micro_batch = batch.micro_batch == 0 ? share : batch.micro_batch;
  if (share % micro_batch != 0)
    fail(ErrorKind::usage,
         "batch.global_batch {} does not divide into micro-batches of {} on {} ranks; the nearest "
         "sizes that do are {}",
         batch.global_batch, micro_batch, ranks,
         nearest_multiples(batch.global_batch, ranks * micro_batch));
  return {ranks, micro_batch, share / micro_batch};
}

std::string BatchSplit::describe() const {
  return fmt::format("{} sequences = {} rank{} x {} micro-batch x {}", global_batch(), ranks,
                     ranks == 1 ? "" : "s", micro_batch, accumulation);
}

std::string run_directory(const Config& config) {
  return config.run.dir.empty() ? "runs/" + config.run.name : config.run.dir;
}

std::string checkpoint_directory(const Config& config) {
  return config.checkpoint.dir.empty() ? run_directory(config) + "/ckpt" : config.checkpoint.dir;
}

std::int64_t most_checkpoints(const CheckpointSection& checkpoint) {
  const std::int64_t continued = checkpoint.kind == "base_diff" ? checkpoint.max_diffs : 0;
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return checkpoint.keep + std::min(continued, most - checkpoint.keep);
}

bool has_cycles(const ScheduleSection& schedule) {
  return schedule.kind == "warm_restarts" || schedule.kind == "step";
}

std::int64_t decay_steps(const Config& config) {
  return config.schedule.decay_steps > 0 ? config.schedule.decay_steps : config.run.steps;
}

}  // namespace skep
