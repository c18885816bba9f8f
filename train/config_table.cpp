// The one place where a key's name, allowed values and help stand (its default is the initialiser
// in config.h). To add a key: one member there, one line here.
#include "train/config_table.h"

#include <utility>

#include "mpi_comm/topology.h"
#include "train/config_rules.h"

namespace skep {
namespace {

/// Adds keys of one section: `add("seed", &RunSection::seed, …)`.
template <class Part>
class Section {
 public:
  Section(std::vector<ConfigKey>& keys, std::string name, Part Config::*part)
      : keys_(keys), name_(std::move(name)), part_(part) {}

  template <class T>
  void add(std::string name, T Part::*member, Rule rule, std::string help) {
    const auto part = part_;
    keys_.push_back(
        {name_, std::move(name), std::move(rule), std::move(help),
         [part, member](const Config& config) { return ConfigValue(config.*part.*member); },
         [part, member](Config& config, const ConfigValue& value) {
           config.*part.*member = std::get<T>(value);
         }});
  }

 private:
  std::vector<ConfigKey>& keys_;
  std::string name_;
  Part Config::*part_;
};

void add_run(std::vector<ConfigKey>& keys) {
  Section run(keys, "run", &Config::run);
  run.add("dir", &RunSection::dir, any(), "folder for everything the run writes; empty: runs/NAME");
  run.add("name", &RunSection::name, plain_name(), "name of the run");
  run.add("seed", &RunSection::seed, at_least(0), "seed of weights, dropout and data order");
  run.add("steps", &RunSection::steps, at_least(0), "optimizer steps to train");
  run.add("log_every", &RunSection::log_every, at_least(1),
          "steps between plain progress lines, and between looks at what each rank uses");
  run.add("eval_every", &RunSection::eval_every, at_least(0),
          "steps between validations; 0: only at the end");
  run.add("eval_batches", &RunSection::eval_batches, at_least(0),
          "global batches a validation reads; 0: the whole validation set");
  run.add("resume", &RunSection::resume, not_empty({"none", "auto"}),
          "checkpoint to continue from: none, auto (newest intact one of this run) or its PATH");
  run.add("progress", &RunSection::progress, one_of({"auto", "bar", "plain", "off"}),
          "console output: a bar that is redrawn, plain lines, or none; auto: a bar on a terminal");
  run.add("threads", &RunSection::threads, from_to(0, most_threads),
          "threads per rank; 0: the CPUs allowed to the process, shared among local ranks");
}

void add_model(std::vector<ConfigKey>& keys) {
  Section model(keys, "model", &Config::model);
  model.add("arch", &ModelSection::arch, one_of({"gpt2"}), "architecture");
  model.add("layers", &ModelSection::layers, size_from(1), "transformer blocks");
  model.add("heads", &ModelSection::heads, size_from(1), "attention heads; must divide width");
  model.add("width", &ModelSection::width, size_from(1), "features of each token");
  model.add("context", &ModelSection::context, size_from(1), "tokens the model sees at once");
  model.add("vocab", &ModelSection::vocab, size_from(0),
            "rows of the embedding; 0: what the data needs; more pads it");
  model.add("dropout", &ModelSection::dropout, fraction_below_one(),
            "share of activations zeroed while training");
  model.add("bias", &ModelSection::bias, any(), "biases in linear layers and layer norms");
  model.add("tied", &ModelSection::tied, any(), "one matrix for embedding and output layer");
  model.add("recompute", &ModelSection::recompute, any(),
            "compute each block again in backward instead of keeping its activations: less memory, "
            "a third more time");
}

void add_data(std::vector<ConfigKey>& keys) {
  Section data(keys, "data", &Config::data);
  data.add("train", &DataSection::train, any(),
           "training data: a text file, or a .bin token file (nanoGPT or llm.c); several of one "
           "kind, read as one: a folder, a pattern such as shards/*.bin, or names between commas");
  data.add("val", &DataSection::val, any(),
           "validation data, named likewise; empty: the end of the training data");
  data.add("val_fraction", &DataSection::val_fraction, fraction_below_one(),
           "share of the training data kept for validation when data.val is empty");
  data.add("tokenizer", &DataSection::tokenizer, not_empty({"byte", "char"}),
           "of texts: byte, char, or the PATH of a tokenizer.json or of its folder; a file of "
           "tokens takes a PATH, or none");
  data.add("sharding", &DataSection::sharding, one_of({"even", "chaos"}),
           "even: every sample once an epoch, in one order for any number of ranks; chaos: each "
           "epoch is dealt anew among the ranks, each with an order of its own");
  data.add("common_fraction", &DataSection::common_fraction, fraction_below_one(),
           "for chaos: share of a rank's samples that every rank meets, each with a weight of one "
           "over the number of ranks");
  data.add("chaos_seed", &DataSection::chaos_seed, at_least(0),
           "for chaos: seed of the deal; 0: the checkpoint's, or drawn by rank 0 from its clock "
           "and host name; the run's config.toml keeps it, and so repeats the run");
  data.add("drop_last", &DataSection::drop_last, any(),
           "true: an epoch's last samples, too few for a global batch, are left out; false: they "
           "share a batch with the next epoch's first");
  data.add("workers", &DataSection::workers, from_to(0, 64),
           "threads per rank that make batches ahead of time; 0: none");
  data.add("prefetch", &DataSection::prefetch, from_to(1, 1024),
           "micro-batches that data.workers keep ready ahead");
}

void add_batch(std::vector<ConfigKey>& keys) {
  Section batch(keys, "batch", &Config::batch);
  batch.add("global_batch", &BatchSection::global_batch, size_from(1),
            "sequences per optimizer step, over all ranks");
  batch.add("micro_batch", &BatchSection::micro_batch, size_from(0),
            "sequences a rank computes at once; 0: its whole share");
}

void add_optim(std::vector<ConfigKey>& keys) {
  Section optim(keys, "optim", &Config::optim);
  optim.add("kind", &OptimSection::kind, one_of({"adamw", "sgd"}), "optimizer");
  optim.add("lr", &OptimSection::lr, at_least(0), "highest learning rate");
  optim.add("min_lr", &OptimSection::min_lr, at_least(0), "learning rate that a decay ends at");
  optim.add("beta1", &OptimSection::beta1, fraction_below_one(),
            "memory of the mean gradient (adamw) or momentum (sgd)");
  optim.add("beta2", &OptimSection::beta2, fraction_below_one(),
            "memory of the mean squared gradient (adamw)");
  optim.add("eps", &OptimSection::eps, above_zero(), "added to the root of that mean (adamw)");
  optim.add("weight_decay", &OptimSection::weight_decay, at_least(0),
            "decay of matrices, decoupled from the gradient");
  optim.add("max_norm", &OptimSection::max_norm, above_zero_or_inf(),
            "gradients with a larger norm are scaled down to it; inf: never");
}

void add_schedule(std::vector<ConfigKey>& keys) {
  Section schedule(keys, "schedule", &Config::schedule);
  schedule.add("kind", &ScheduleSection::kind,
               one_of({"constant", "cosine", "wsd", "step", "warm_restarts"}),
               "course of the learning rate after warmup");
  schedule.add("warmup", &ScheduleSection::warmup, at_least(0),
               "steps over which the learning rate rises to optim.lr");
  schedule.add("decay_steps", &ScheduleSection::decay_steps, at_least(0),
               "step at which cosine and wsd reach optim.min_lr; 0: run.steps");
  schedule.add(
      "cycle", &ScheduleSection::cycle, at_least(0),
      "length of the first cycle of warm_restarts and step, of wsd's decay, and of one draw of "
      "jitter; 0: none");
  schedule.add("cycle_mult", &ScheduleSection::cycle_mult, at_least(1),
               "each cycle is this much longer than the one before");
  schedule.add("unit", &ScheduleSection::unit, one_of({"steps", "epochs"}),
               "unit of schedule.cycle");
  schedule.add("jitter", &ScheduleSection::jitter, fraction_below_one(),
               "each cycle's highest rate is moved by up to this share, up or down");
  schedule.add("restart_from", &ScheduleSection::restart_from, one_of({"last", "best"}),
               "weights that a cycle of warm_restarts or step begins with: those at the end of the "
               "last one, or at the end with the lowest validation loss");
}

void add_precision(std::vector<ConfigKey>& keys) {
  Section precision(keys, "precision", &Config::precision);
  precision.add("compute", &PrecisionSection::compute, one_of({"fp32", "bf16", "fp16"}),
                "type of the products; weights, norms, losses and sums stay fp32");
  precision.add(
      "loss_scale", &PrecisionSection::loss_scale, dynamic_or_above_zero(),
      "backward starts from this times the mean loss; dynamic: found by trying, with fp16 "
      "only");
  precision.add("growth_interval", &PrecisionSection::growth_interval, at_least(1),
                "updates without overflow after which a dynamic scale doubles");
  precision.add("min_scale", &PrecisionSection::min_scale, above_zero(),
                "a dynamic scale that would fall below this ends the run");
}

void add_device(std::vector<ConfigKey>& keys) {
  Section device(keys, "device", &Config::device);
  device.add("kind", &DeviceSection::kind, one_of({"auto", "cpu", "cuda"}),
             "where ranks compute; cuda: each on a GPU of its own; auto: that, where there are as "
             "many as ranks");
  device.add("share", &DeviceSection::share, any(),
             "ranks of a host may share its GPUs, taking turns: for trying things out");
  device.add(
      "cuda_aware_mpi", &DeviceSection::cuda_aware_mpi, one_of({"auto", "on", "off"}),
      "the MPI library sums gradients out of a GPU's memory, not by way of the host's; auto: "
      "where it can and comm.transport is mpi");
}

void add_comm(std::vector<ConfigKey>& keys) {
  Section comm(keys, "comm", &Config::comm);
  std::vector<std::string> topologies = topology_names();
  topologies.push_back("auto");
  comm.add("topology", &CommSection::topology, one_of(std::move(topologies)),
           "wires over which ranks meet; random_clusters, grid and exponential group only some "
           "ranks at a step: parameters are averaged then, not gradients; auto: for each size the "
           "cheapest by costs measured at the start");
  comm.add("transport", &CommSection::transport, one_of({"plans", "mpi", "auto", "nccl"}),
           "plans: messages as the topology says; mpi: MPI's own collectives where all ranks meet; "
           "auto: whichever was faster in a measurement at the start; nccl: gradients go from GPU to GPU, "
           "all else by plans");
  comm.add("cluster_size", &CommSection::cluster_size, from_to(1, 1 << 20),
           "ranks in a cluster of random_clusters, at most");
  comm.add(
      "reduction", &CommSection::reduction, one_of({"fast", "rank_order", "exact"}),
      "how gradients are added: fast (as the topology does it), rank_order (one order whatever "
      "the topology), exact (the same bits for any topology and, with one batch.micro_batch, any "
      "number of ranks)");
  comm.add("exact_scale", &CommSection::exact_scale, power_of_two(),
           "for exact: gradients are rounded to multiples of one over this");
  comm.add("wire", &CommSection::wire, one_of({"fp32", "bf16"}),
           "type in which gradients travel; sums are fp32");
  comm.add("bucket_mb", &CommSection::bucket_mb, above_zero(),
           "MiB of gradients summed in one piece; the first piece is at most 1 MiB");
  comm.add("overlap", &CommSection::overlap, any(),
           "sum gradients while backward still computes; the result is the same bit for bit");
  comm.add("hash_every", &CommSection::hash_every, at_least(0),
           "steps between checks that all ranks hold the same parameters; 0: never");
  comm.add(
      "check", &CommSection::check, one_of({"basic", "full"}),
      "comparing the ranks' collectives: basic between neighbours while data moves, full among "
      "all before it moves");
  comm.add("timeout", &CommSection::timeout, at_least(0),
           "seconds in which no rank does anything while one waits for others, until the run ends "
           "with code 6; 0: never");
}

void add_sync(std::vector<ConfigKey>& keys) {
  Section sync(keys, "sync", &Config::sync);
  sync.add("rule", &SyncSection::rule, one_of({"every_step", "accumulate", "local_sgd", "diloco"}),
           "every_step sums gradients over all ranks; accumulate does so, and updates, every "
           "sync.period steps; local_sgd trains each rank by itself and averages the parameters "
           "every sync.period steps; diloco takes an outer step along that average instead");
  sync.add("period", &SyncSection::period, at_least(1), "steps from one meeting to the next");
  sync.add("outer_lr", &SyncSection::outer_lr, above_zero(),
           "learning rate of diloco's outer step");
  sync.add("outer_momentum", &SyncSection::outer_momentum, fraction_below_one(),
           "Nesterov momentum of diloco's outer steps");
}

void add_compress(std::vector<ConfigKey>& keys) {
  Section compress(keys, "compress", &Config::compress);
  compress.add("codec", &CompressSection::codec,
               one_of({"none", "bf16", "int8", "int4", "topk", "topk_int8", "topk_int4"}),
               "how gradients are made smaller on the wire");
  compress.add("density", &CompressSection::density, share(),
               "share of the elements that topk codecs send exactly");
  compress.add("block", &CompressSection::block, from_to(1, 1 << 20),
               "elements that share one step of int8 and int4");
  compress.add("error_feedback", &CompressSection::error_feedback, any(),
               "what a codec did not send is added to the next gradients");
}

void add_loss(std::vector<ConfigKey>& keys) {
  Section loss(keys, "loss", &Config::loss);
  loss.add("view_weighting", &LossSection::view_weighting, one_of({"uniform", "adaptive"}),
           "adaptive: the batch of each rank, a view, weighs by its loss");
  loss.add("temperature", &LossSection::temperature, within(-100, 100),
           "of adaptive: above 0 views with a large loss weigh more, below 0 less");
  loss.add("ema", &LossSection::ema, fraction_below_one(),
           "share of the past in the losses that adaptive looks at; several micro-batches a step "
           "need some");
  loss.add("task_weighting", &LossSection::task_weighting, one_of({"fixed", "uncertainty"}),
           "how next-token loss and z-loss add up: by the weights 1 and loss.z_weight, or by "
           "weights that begin there and are learned, one log-variance a loss");
  loss.add("z_weight", &LossSection::z_weight, at_least(0),
           "weight of the squared log-sum-exp of a token's logits in the training loss (z-loss)");
}

void add_ddp(std::vector<ConfigKey>& keys) {
  Section ddp(keys, "ddp", &Config::ddp);
  ddp.add("find_unused_parameters", &DdpSection::find_unused_parameters, any(),
          "true: tell which ranks did not use which parameters; false: an unused one ends the run");
  ddp.add(
      "broadcast_buffers", &DdpSection::broadcast_buffers, any(),
      "true: before each step every rank takes rank 0's buffers, which the model reads but does "
      "not train (gpt2: its position ids); false: each keeps its own and the bytes are saved");
}

void add_checkpoint(std::vector<ConfigKey>& keys) {
  Section checkpoint(keys, "checkpoint", &Config::checkpoint);
  checkpoint.add("every", &CheckpointSection::every, at_least(0),
                 "steps between checkpoints; 0: only at the end");
  checkpoint.add("keep", &CheckpointSection::keep, at_least(1), "newest checkpoints kept");
  checkpoint.add(
      "kind", &CheckpointSection::kind, one_of({"full", "base_diff"}),
      "full: each stands alone; base_diff: whole ones, and between them only what changed "
      "since the last");
  checkpoint.add("max_diffs", &CheckpointSection::max_diffs, size_from(1),
                 "base_diff: checkpoints that continue a whole one, at most");
  checkpoint.add("dir", &CheckpointSection::dir, any(),
                 "folder of the checkpoints; empty: ckpt in the run's folder");
}

void add_observe(std::vector<ConfigKey>& keys) {
  Section observe(keys, "observe", &Config::observe);
  observe.add("csv", &ObserveSection::csv, any(), "write metrics.csv beside metrics.jsonl");
  observe.add("tensorboard", &ObserveSection::tensorboard, any(),
              "write event files for TensorBoard into the run's folder tensorboard");
  observe.add("pipe", &ObserveSection::pipe, any(),
              "shell command, started by rank 0, that is sent the lines of metrics.jsonl");
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all;
    add_run(all);
    add_model(all);
    add_data(all);
    add_batch(all);
    add_optim(all);
    add_schedule(all);
    add_precision(all);
    add_device(all);
    add_comm(all);
    add_sync(all);
    add_compress(all);
    add_loss(all);
    add_ddp(all);
    add_checkpoint(all);
    add_observe(all);
    return all;
  }();
  return keys;
}

}  // namespace skep
