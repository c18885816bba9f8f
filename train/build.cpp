#include "train/build.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>

#include "mpi_comm/leave.h"
#include "train/build_sync.h"
#include "train/data/corpus.h"
#include "train/explain.h"
#include "train/observe/console.h"
#include "train/observe/metrics_file.h"
#include "train/observe/metrics_pipe.h"
#include "train/observe/progress_bar.h"
#include "train/observe/rank_log.h"
#include "train/observe/tensorboard.h"
#include "train/observe/terminal.h"
#include "train/signals.h"

namespace skep {
namespace {

std::unique_ptr<Optimizer> make_optimizer(const OptimSection& o, const Tensor& like) {
  const OptimizerSettings settings{o.beta1, o.beta2, o.eps, o.weight_decay};
  if (o.kind == "adamw") return make_adamw(settings, like);
  if (o.kind == "sgd") return make_sgd(settings, like);
  fail(ErrorKind::usage, "optim.kind \"{}\" is not known", o.kind);
}

// A bar where somebody watches it, lines elsewhere; from rank 0 alone.
std::unique_ptr<Observer> make_progress(const RunSection& run, std::int64_t first, int rank) {
  std::shared_ptr<Terminal> terminal = find_terminal();
  const bool bar = run.progress == "bar" || (run.progress == "auto" && terminal);
  if (bar && rank != 0) begin_message_on_new_line();
  if (run.progress == "off" || rank != 0) return nullptr;
  if (!bar) return make_console(first, run.steps, run.log_every);
  const auto columns = [terminal] { return terminal ? terminal->columns() : 80; };
  return make_progress_bar(first, run.steps, {columns, print});
}

// What rank 0 writes down.
void add_files(Parts& parts, const Config& config, const std::string& folder, std::int64_t first) {
  const ObserveSection& observe = config.observe;
  parts.observers.push_back(make_metrics_file(folder + "/metrics.jsonl", first));
  if (has_cycles(config.schedule))
    parts.observers.push_back(make_lr_history(folder + "/lr_history.csv", first));
  if (observe.csv) parts.observers.push_back(make_csv_file(folder + "/metrics.csv", first));
  if (observe.tensorboard)
    parts.observers.push_back(make_tensorboard(folder + "/tensorboard", first));
  if (observe.pipe.empty()) return;
  const auto warn = [&parts](const std::string& text) {
    for (auto& observer : parts.observers) observer->on_warning(text);
  };
  parts.observers.push_back(make_metrics_pipe(observe.pipe, warn));
}

std::unique_ptr<LrSchedule> make_schedule(const Config& config, double steps_per_epoch) {
  const ScheduleSection& s = config.schedule;
  const double unit = s.unit == "epochs" ? steps_per_epoch : 1;
  ScheduleSettings settings;
  settings.peak = {config.optim.lr, s.jitter, static_cast<std::uint64_t>(config.run.seed)};
  settings.min_lr = config.optim.min_lr;
  settings.warmup = s.warmup;
  settings.decay_steps = decay_steps(config);
  settings.cycle = s.cycle > 0 ? std::max<std::int64_t>(1, std::llround(s.cycle * unit)) : 0;
  settings.cycle_mult = s.cycle_mult;
  if (s.kind == "constant") return make_constant_lr(settings);
  if (s.kind == "cosine") return make_cosine_lr(settings);
  if (s.kind == "wsd") return make_wsd_lr(settings);
  if (s.kind == "step") return make_step_lr(settings);
  if (s.kind == "warm_restarts") return make_warm_restarts_lr(settings);
  fail(ErrorKind::usage, "schedule.kind \"{}\" is not known", s.kind);
}

/// A scale has its usual meaning, that of a mean loss: our losses are sums, so it is divided by the
/// tokens of a micro-batch, rounded up to a power of two to keep it one.
LossScaler::Settings scaler_settings(const Config& config, const BatchSplit& split) {
  const PrecisionSection& p = config.precision;
  const auto tokens = static_cast<double>(split.micro_batch * config.model.context);
  const double unit = std::exp2(std::ceil(std::log2(tokens)));
  LossScaler::Settings settings;
  settings.growth_interval = p.growth_interval;
  settings.min_scale = p.min_scale / unit;
  if (p.loss_scale != "dynamic") {
    settings.unit = unit;
    settings.scale = std::stod(p.loss_scale) / unit;
  } else if (p.compute == "fp16") {
    settings.unit = unit;
    settings.kind = LossScaler::Kind::dynamic;
    settings.scale = std::max(65536.0, p.min_scale) / unit;
  }
  return settings;
}

ViewSettings view_settings(const LossSection& loss, const BatchSplit& split) {
  using Known = ViewSettings::Known;
  return {loss.temperature, loss.ema,
          split.accumulation > 1 ? Known::past_steps : Known::this_step};
}

void deal(Parts& parts, const DataSection& data) {
  check(data.chaos_seed > 0, "data.chaos_seed has not been drawn");
  parts.loader->deal(static_cast<std::uint64_t>(data.chaos_seed), data.common_fraction);
  const ChaosOrder& chaos = *parts.loader->chaos();
  parts.data_description += fmt::format(
      "\nchaos: an epoch deals each rank {} windows, {} of them to all ranks alike, by the seed {}",
      chaos.quota(), chaos.common(), chaos.seed());
}

TaskWeighting task_weighting(const LossSection& loss) {
  if (loss.task_weighting == "fixed") return TaskWeighting::fixed;
  if (loss.task_weighting == "uncertainty") return TaskWeighting::uncertainty;
  fail(ErrorKind::usage, "loss.task_weighting \"{}\" is not known", loss.task_weighting);
}

void add_restarts(Parts& parts, const ScheduleSection& schedule) {
  if (schedule.restart_from == "last") return;
  if (!parts.validation)
    fail(ErrorKind::usage,
         "schedule.restart_from best looks for the lowest validation loss, and there is no "
         "validation data: name some with data.val, or set data.val_fraction greater than 0");
  parts.best = std::make_unique<BestWeights>(*parts.parameters, *parts.optimizer);
}

void add_data(Parts& parts, const Config& config, Corpus&& corpus, const BatchSplit& split) {
  const int rank = parts.comm.rank(), ranks = parts.comm.size();
  parts.tokenizer = corpus.tokenizer;
  parts.train_data = std::make_unique<Dataset>(std::move(corpus.train));
  parts.validation_data = std::make_unique<Dataset>(std::move(corpus.validation));
  parts.loader = std::make_unique<Loader>(
      *parts.train_data, config.run.seed, split, rank,
      config.data.drop_last ? LastBatch::dropped : LastBatch::shared_by_epochs);
  if (config.data.sharding == "chaos") deal(parts, config.data);
  parts.batches = std::make_unique<Prefetcher>(
      [&loader = *parts.loader](std::int64_t position, std::int64_t index, Batch& batch) {
        loader.fill(position, index, batch);
      },
      split, Prefetcher::Settings{config.data.workers, config.data.prefetch});
  const std::int64_t windows = evaluation_windows(*parts.validation_data, config.run.eval_batches,
                                                  config.batch.global_batch);
  if (windows > 0)
    parts.validation = std::make_unique<EvaluationLoader>(*parts.validation_data, windows,
                                                          split.micro_batch, rank, ranks);
}

}  // namespace

DType compute_dtype(const PrecisionSection& precision) {
  if (precision.compute == "fp32") return DType::f32;
  if (precision.compute == "bf16") return DType::bf16;
  if (precision.compute == "fp16") return DType::f16;
  fail(ErrorKind::usage, "precision.compute \"{}\" is not known", precision.compute);
}

ModelConfig model_config(const ModelSection& section, std::int64_t known_ids, std::int64_t rows) {
  ModelConfig c;
  c.arch = section.arch;
  c.layers = section.layers;
  c.heads = section.heads;
  c.width = section.width;
  c.context = section.context;
  c.dropout = section.dropout;
  c.bias = section.bias;
  c.tied = section.tied;
  c.vocab = known_ids;
  c.padded_vocab = rows;
  return c;
}

// Weights, gradients and two moments are four numbers a parameter. A block without any width still
// costs some kilobytes of bookkeeping.
double least_training_bytes(const ModelConfig& c) {
  const double width = static_cast<double>(c.width), layers = static_cast<double>(c.layers);
  const double table =
      static_cast<double>(c.padded_vocab) * (c.tied ? 1 : 2) + static_cast<double>(c.context);
  return 16 * (12 * layers * width * width + table * width) + 16384 * layers;
}

namespace {

double memory_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// Before anything is allocated.
void check_memory(const ModelConfig& model) {
  const double needed = least_training_bytes(model), present = memory_bytes();
  if (needed > present)
    fail(ErrorKind::usage,
         "the model needs {:.1f} GB for weights, gradients and optimizer, this machine has {:.1f} "
         "GB: reduce model.layers, model.width or model.vocab",
         needed / 1e9, present / 1e9);
}

void check_step_memory(const Parts& parts) {
  const double needed = predict_step_costs(parts).activation_bytes, present = memory_bytes();
  if (needed > present)
    fail(ErrorKind::usage,
         "a micro-batch of {} sequences needs {:.1f} GB, this machine has {:.1f} GB: set "
         "batch.micro_batch to less",
         parts.loader->split().micro_batch, needed / 1e9, present / 1e9);
}

// hosts: of each rank; empty where all ranks are threads of one process.
LocalPlace local_place(const std::vector<int>& hosts, int rank) {
  if (hosts.empty()) return {};
  const auto self = hosts.begin() + rank;
  return {static_cast<int>(std::count(hosts.begin(), self, *self)),
          static_cast<int>(std::count(hosts.begin(), hosts.end(), *self))};
}

}  // namespace

Parts build_parts(const Config& config, Communicator& comm, const std::vector<int>& hosts) {
  Parts parts(comm);
  const BatchSplit split = split_batch(config.batch, comm.size());
  Corpus corpus = load_corpus(config.data, config.model);
  parts.data_description = corpus.description;
  comm.set_check(config.comm.check == "full" ? Check::full : Check::basic);
  const ModelConfig model = model_config(config.model, corpus.known_ids, corpus.vocab_size);
  check_memory(model);
  parts.model = make_model(model);
  parts.objective = make_next_token(config.loss.z_weight, task_weighting(config.loss));
  const std::array<Module*, 2> modules{parts.model.get(), parts.objective->module()};
  parts.device = choose_device(config.device.kind, local_place(hosts, comm.rank()),
                               config.device.share ? Sharing::yes : Sharing::no);
  parts.parameters = std::make_unique<ParameterStore>(
      modules, config.run.seed, DType::f32, compute_dtype(config.precision), parts.device.device);
  if (config.loss.view_weighting == "adaptive")
    parts.views = std::make_unique<ViewWeights>(view_settings(config.loss, split));
  parts.optimizer = make_optimizer(config.optim, parts.parameters->working_values());
  parts.scaler = std::make_unique<LossScaler>(scaler_settings(config, split));
  if (config.model.recompute) parts.activations = Pass::Activations::recompute;
  add_data(parts, config, std::move(corpus), split);
  const double steps_per_epoch = static_cast<double>(parts.loader->epoch_samples()) /
                                 static_cast<double>(config.batch.global_batch);
  parts.schedule = make_schedule(config, steps_per_epoch);
  add_restarts(parts, config.schedule);
  parts.message_path = choose_message_path(config, comm, parts.device.device);
  parts.reduction = make_reduction(config, parts.parameters->size(), parts.message_path);
  parts.phases = make_phases(config, comm, hosts, parts.reduction, steps_per_epoch);
  check_step_memory(parts);
  parts.monitor = std::make_unique<Monitor>(
      comm, config.run.log_every, [] { return doctor::find_memory(); }, parts.device.device);
  return parts;
}

Limits build_limits(const Config& config) {
  Limits limits;
  limits.steps = config.run.steps;
  limits.seed = static_cast<std::uint64_t>(config.run.seed);
  limits.max_norm = config.optim.max_norm;
  limits.eval_every = config.run.eval_every;
  limits.hash_every = config.comm.hash_every;
  limits.checkpoint_every = config.checkpoint.every;
  limits.checkpoints = {checkpoint_directory(config), config.checkpoint.keep,
                        config.checkpoint.kind == "base_diff" ? config.checkpoint.max_diffs : 0};
  limits.run_folder = run_directory(config);
  limits.stop_signal = stop_signal;
  limits.unused_parameters = config.ddp.find_unused_parameters ? UnusedParameters::When::watch
                                                               : UnusedParameters::When::refuse;
  limits.buffers = config.ddp.broadcast_buffers ? Buffers::rank_0 : Buffers::own;
  return limits;
}

void add_observers(Parts& parts, const Config& config, std::int64_t first) {
  const std::string folder = run_directory(config);
  parts.observers.push_back(make_rank_log(folder, parts.comm.rank()));
  if (parts.comm.rank() == 0) add_files(parts, config, folder, first);
  if (auto progress = make_progress(config.run, first, parts.comm.rank()))
    parts.observers.push_back(std::move(progress));
}

std::unique_ptr<Watchdog> build_watchdog(const Config& config, Communicator& comm) {
  if (comm.size() == 1 || config.comm.timeout == 0) return nullptr;
  WatchdogSettings settings;
  settings.folder = run_directory(config);
  settings.rank = comm.rank();
  settings.ranks = comm.size();
  settings.limit_seconds = config.comm.timeout;
  settings.told_to_end = [] { return stop_signal() == SIGTERM; };
  return std::make_unique<Watchdog>(comm.recorder(), std::move(settings));
}

}  // namespace skep
