#pragma once
// What a run is told: every key of the configuration with its default, and the functions that read
// it (defaults < file < command line), print it and check it. What is known about a key (its name,
// allowed values, help) stands once, in config_table.cpp. All errors here are Error(usage).
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace skep {

/// Of one rank; a larger number is a slip of the pen.
constexpr std::int64_t most_threads = 1024;

/// What a key may hold.
using ConfigValue = std::variant<std::int64_t, double, bool, std::string>;

struct RunSection {
  std::string dir;
  std::string name = "run";
  std::int64_t seed = 1337;
  std::int64_t steps = 1000;
  std::int64_t log_every = 10;
  std::int64_t eval_every = 250;
  std::int64_t eval_batches = 0;
  std::string resume = "none";
  std::string progress = "auto";
  std::int64_t threads = 0;
};

struct ModelSection {
  std::string arch = "gpt2";
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t width = 128;
  std::int64_t context = 64;
  std::int64_t vocab = 0;
  double dropout = 0;
  bool bias = true;
  bool tied = true;
  bool recompute = false;
};

struct DataSection {
  std::string train;
  std::string val;
  double val_fraction = 0.1;
  std::string tokenizer = "byte";
  std::string sharding = "even";
  double common_fraction = 0;
  std::int64_t chaos_seed = 0;
  bool drop_last = false;
  std::int64_t workers = 0;
  std::int64_t prefetch = 2;
};

struct BatchSection {
  std::int64_t global_batch = 12;
  std::int64_t micro_batch = 0;
};

struct OptimSection {
  std::string kind = "adamw";
  double lr = 1e-3;
  double min_lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.1;
  double max_norm = 1.0;
};

struct ScheduleSection {
  std::string kind = "constant";
  std::int64_t warmup = 0;
  std::int64_t decay_steps = 0;
  double cycle = 0;
  double cycle_mult = 1;
  std::string unit = "steps";
  double jitter = 0;
  std::string restart_from = "last";
};

struct PrecisionSection {
  std::string compute = "fp32";
  std::string loss_scale = "dynamic";
  std::int64_t growth_interval = 2000;
  double min_scale = 1;
};

struct DeviceSection {
  std::string kind = "auto";
  bool share = false;
  std::string cuda_aware_mpi = "auto";
};

struct CommSection {
  std::string topology = "ring";
  std::string transport = "plans";
  std::int64_t cluster_size = 4;
  std::string reduction = "fast";
  double exact_scale = 0x1p24;
  std::string wire = "fp32";
  double bucket_mb = 25;
  bool overlap = true;
  std::int64_t hash_every = 100;
  std::string check = "basic";
  double timeout = 300;
};

struct SyncSection {
  std::string rule = "every_step";
  std::int64_t period = 4;
  double outer_lr = 0.7;
  double outer_momentum = 0.9;
};

struct CompressSection {
  std::string codec = "none";
  double density = 0.05;
  std::int64_t block = 256;
  bool error_feedback = true;
};

struct LossSection {
  std::string view_weighting = "uniform";
  double temperature = 1;
  double ema = 0;
  std::string task_weighting = "fixed";
  double z_weight = 0;
};

struct DdpSection {
  bool find_unused_parameters = false;
  bool broadcast_buffers = true;
};

struct CheckpointSection {
  std::int64_t every = 0;
  std::int64_t keep = 3;
  std::string kind = "full";
  std::int64_t max_diffs = 8;
  std::string dir;
};

struct ObserveSection {
  bool csv = false;
  bool tensorboard = false;
  std::string pipe;
};

/// One [[phase]] of a file: other values of some keys until an epoch or a step; whichever is set.
struct PhaseEntry {
  double until_epoch = 0;
  std::int64_t until_step = 0;  ///< with neither, the phase lasts to the end
  std::vector<std::pair<std::string, ConfigValue>> settings;  ///< full key names
};

struct Config {
  RunSection run;
  ModelSection model;
  DataSection data;
  BatchSection batch;
  OptimSection optim;
  ScheduleSection schedule;
  PrecisionSection precision;
  DeviceSection device;
  CommSection comm;
  SyncSection sync;
  CompressSection compress;
  LossSection loss;
  DdpSection ddp;
  CheckpointSection checkpoint;
  ObserveSection observe;
  std::vector<PhaseEntry> phases;
};

/// The configuration as it is during one of its phases: the phase's settings in their keys' places.
Config during_phase(const Config& config, const PhaseEntry& phase);

/// What the command line asks for.
enum class Action { train, doctor, help, print_config, print_completion, version };

/// Whether training also tells what it costs (--explain).
enum class Explain { no, yes };

struct ParsedCommand {
  Config config;
  Action action = Action::train;
  std::string text;  ///< what to print for help, print_config and version
  Explain explain = Explain::no;
};

/// Reads `[--config FILE.toml] [--SECTION.KEY VALUE …]`; the last of repeated flags wins.
/// Every single value is checked against the table; `validate` checks them together.
ParsedCommand parse_command_line(int argc, const char* const* argv);

/// Overwrites the keys that the TOML text names; `file_name` is for messages ("NAME:LINE: …").
void read_toml(Config& config, const std::string& text, const std::string& file_name);

/// Commented TOML of every key; read_toml gives the same Config back.
std::string print_config(const Config& config);

/// Checks what no single key can tell: sizes that must divide, keys that exclude each other.
void validate(const Config& config, std::int64_t ranks);
/// Settings that were changed and change nothing beside the others, a line for each.
std::vector<std::string> find_idle_settings(const Config& config);

/// How one global batch is cut: every rank runs `accumulation` micro-batches of `micro_batch`
/// sequences before the optimizer moves once.
struct BatchSplit {
  std::int64_t ranks;
  std::int64_t micro_batch;
  std::int64_t accumulation;

  std::int64_t global_batch() const { return ranks * micro_batch * accumulation; }
  std::string describe() const;  ///< "12 sequences = 2 ranks x 1 micro-batch x 6"
};

/// The split of batch.global_batch; an error naming the nearest sizes when it does not divide.
BatchSplit split_batch(const BatchSection& batch, std::int64_t ranks);

/// Folders and numbers whose default depends on other keys.
std::string run_directory(const Config& config);
std::string checkpoint_directory(const Config& config);
/// How many checkpoints stay at most: with base_diff the oldest of those kept may continue others.
std::int64_t most_checkpoints(const CheckpointSection& checkpoint);
std::int64_t decay_steps(const Config& config);

/// Whether the learning rate goes through cycles that end.
bool has_cycles(const ScheduleSection& schedule);

}  // namespace skep
