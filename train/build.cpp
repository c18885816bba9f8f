#include "train/build.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "train/data/corpus.h"
#include "train/observe/console.h"
#include "train/observe/metrics_file.h"
#include "train/observe/rank_log.h"
#include "train/sync/every_step.h"
#include "train/sync/local_sgd.h"

namespace skep {
namespace {

std::unique_ptr<Optimizer> make_optimizer(const OptimSection& o, const Tensor& like) {
  const OptimizerSettings settings{o.beta1, o.beta2, o.eps, o.weight_decay};
  if (o.kind == "adamw") return make_adamw(settings, like);
  if (o.kind == "sgd") return make_sgd(settings, like);
  fail(ErrorKind::usage, "optim.kind \"{}\" is not known", o.kind);
}

std::unique_ptr<LrSchedule> make_schedule(const Config& config) {
  const std::string& kind = config.schedule.kind;
  if (kind == "constant")
    return std::make_unique<ConstantLr>(config.optim.lr, config.schedule.warmup);
  if (kind == "cosine")
    return std::make_unique<CosineLr>(config.optim.lr, config.optim.min_lr, config.schedule.warmup,
                                      decay_steps(config));
  fail(ErrorKind::usage, "schedule.kind \"{}\" is not known", kind);
}

std::unique_ptr<Reduction> make_reduction(const CommSection& comm) {
  if (comm.reduction == "exact") return make_exact_reduction(comm.exact_scale);
  if (comm.wire == "bf16") return make_owner_sum(make_bf16_codec());
  if (comm.reduction == "rank_order") return make_owner_sum(make_fp32_codec());
  return make_fast_reduction();
}

BucketedSettings bucket_settings(const CommSection& comm) {
  BucketedSettings settings;
  const double elements = comm.bucket_mb * (1 << 18);  // of fp32
  settings.sizes.elements = std::max<std::int64_t>(1, std::llround(std::min(elements, 1e15)));
  settings.sizes.first_elements = std::min(settings.sizes.first_elements, settings.sizes.elements);
  settings.overlap = comm.overlap ? Overlap::yes : Overlap::no;
  return settings;
}

Phase make_phase(const Config& config, int ranks, const std::vector<int>& hosts) {
  Phase phase;
  phase.topology =
      make_topology(config.comm.topology, {static_cast<int>(config.comm.cluster_size), hosts});
  const bool everybody = phase.topology->reach(ranks) == Reach::global;
  if (config.sync.rule == "local_sgd")
    phase.sync = make_local_sgd(config.sync.period);
  else if (everybody)
    phase.sync = make_every_step(make_reduction(config.comm), bucket_settings(config.comm));
  else
    phase.sync = make_local_sgd(1);
  phase.name = fmt::format("{}, {}", phase.topology->name(), phase.sync->name());
  const std::string note = phase.topology->note(ranks);
  if (!note.empty()) phase.name += fmt::format(" ({})", note);
  return phase;
}

/// The first step that is not in the phase.
std::int64_t end_of(const PhaseEntry& entry, double steps_per_epoch) {
  if (entry.until_step > 0) return entry.until_step;
  if (entry.until_epoch > 0)
    return std::max<std::int64_t>(1, std::llround(std::ceil(entry.until_epoch * steps_per_epoch)));
  return std::numeric_limits<std::int64_t>::max();
}

std::unique_ptr<PhaseSchedule> make_phases(const Config& config, int ranks,
                                           const std::vector<int>& hosts, std::int64_t windows) {
  const double steps_per_epoch =
      static_cast<double>(windows) / static_cast<double>(config.batch.global_batch);
  std::vector<Phase> phases;
  for (const PhaseEntry& entry : config.phases) {
    phases.push_back(make_phase(during_phase(config, entry), ranks, hosts));
    phases.back().until_step = end_of(entry, steps_per_epoch);
  }
  // What no [[phase]] covers is as the other keys say.
  if (phases.empty() || phases.back().until_step < std::numeric_limits<std::int64_t>::max())
    phases.push_back(make_phase(config, ranks, hosts));
  return std::make_unique<PhaseSchedule>(std::move(phases));
}

void add_data(Parts& parts, const Config& config, Corpus&& corpus, const BatchSplit& split) {
  const int rank = parts.comm.rank(), ranks = parts.comm.size();
  parts.tokenizer = corpus.tokenizer;
  parts.train_data = std::make_unique<Dataset>(std::move(corpus.train));
  parts.validation_data = std::make_unique<Dataset>(std::move(corpus.validation));
  parts.loader = std::make_unique<Loader>(*parts.train_data, config.run.seed, split, rank);
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

namespace {

// Before anything is allocated: weights, gradients and two moments are four numbers a parameter.
void check_memory(const ModelConfig& c) {
  const double width = static_cast<double>(c.width), layers = static_cast<double>(c.layers);
  const double table =
      static_cast<double>(c.padded_vocab) * (c.tied ? 1 : 2) + static_cast<double>(c.context);
  const double needed = 16 * (12 * layers * width * width + table * width);
  const double present =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  // A block without any width still costs some kilobytes of bookkeeping.
  if (needed + 16384 * layers > present)
    fail(ErrorKind::usage,
         "the model needs {:.1f} GB for weights, gradients and optimizer, this machine has {:.1f} "
         "GB: reduce "
         "model.layers, model.width or model.vocab",
         (needed + 16384 * layers) / 1e9, present / 1e9);
}

}  // namespace

Parts build_parts(const Config& config, Communicator& comm, const std::vector<int>& hosts) {
  Parts parts(comm);
  const BatchSplit split = split_batch(config.batch, comm.size());
  Corpus corpus = load_corpus(config.data, config.model);
  parts.data_description = corpus.description;
  const ModelConfig model = model_config(config.model, corpus.known_ids, corpus.vocab_size);
  check_memory(model);
  parts.model = make_model(model);
  parts.parameters = std::make_unique<ParameterStore>(*parts.model, config.run.seed, DType::f32,
                                                      compute_dtype(config.precision));
  parts.objective = make_next_token();
  parts.optimizer = make_optimizer(config.optim, parts.parameters->values());
  parts.schedule = make_schedule(config);
  add_data(parts, config, std::move(corpus), split);
  parts.phases = make_phases(config, comm.size(), hosts, parts.loader->order().windows);
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
  limits.checkpoint_keep = config.checkpoint.keep;
  limits.checkpoint_folder = checkpoint_directory(config);
  return limits;
}

void add_observers(Parts& parts, const Config& config, std::int64_t first) {
  const std::string folder = run_directory(config);
  parts.observers.push_back(make_rank_log(folder, parts.comm.rank()));
  if (parts.comm.rank() != 0) return;
  parts.observers.push_back(make_metrics_file(folder + "/metrics.jsonl", first));
  if (config.run.progress != "off")
    parts.observers.push_back(make_console(first, config.run.steps, config.run.log_every));
}

std::string describe_run(const Config& config, const Parts& parts, const Environment& environment,
                         int threads) {
  return fmt::format(
      "skep: {} ranks ({} on {}), {} threads each, topology {}\n{}\nmodel: {}: {} "
      "parameters\nbatch: {}\nrun: {}",
      environment.size(), environment.local_size(), environment.host(), threads,
      parts.phases->at(0).name, parts.data_description, to_string(parts.model->config()),
      parts.parameters->parameter_count(), parts.loader->split().describe(), run_directory(config));
}

int choose_threads(const Config& config, const Environment& environment) {
  if (config.run.threads > 0) return static_cast<int>(config.run.threads);
  if (const char* wish = std::getenv("OMP_NUM_THREADS"); wish && std::atoi(wish) > 0)
    return std::atoi(wish);
  return std::max(1, environment.local_processors() / environment.local_size());
}

}  // namespace skep
