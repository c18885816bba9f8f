#pragma once
// The trainer: the loop, and nothing that the parts could do themselves. Which parts, build.cpp
// decides.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/optim/optimizer.h"
#include "model/language_model.h"
#include "model/parameter_store.h"
#include "mpi_comm/communicator.h"
#include "train/checkpoint/checkpointer.h"
#include "train/checkpoint/witness.h"
#include "train/data/loader.h"
#include "train/data/prefetcher.h"
#include "train/data/tokenizer.h"
#include "train/device.h"
#include "train/loss/multi_view.h"
#include "train/loss/objective.h"
#include "train/message_path.h"
#include "train/observe/monitor.h"
#include "train/observe/observer.h"
#include "train/observe/repeats.h"
#include "train/precision/loss_scaler.h"
#include "train/schedule/best_weights.h"
#include "train/schedule/lr_schedule.h"
#include "train/schedule/phase_schedule.h"
#include "train/sync/buffers.h"
#include "train/sync/reduction.h"
#include "train/sync/unused_parameters.h"

namespace skep {

struct Parts {
  explicit Parts(Communicator& communicator) : comm(communicator) {}

  Communicator& comm;
  ChosenDevice device;
  MessagePath message_path;  ///< of gradients
  std::string data_description;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< or null
  std::unique_ptr<Dataset> train_data, validation_data;
  std::unique_ptr<Loader> loader;
  std::unique_ptr<Prefetcher> batches;           ///< the loader's
  std::unique_ptr<EvaluationLoader> validation;  ///< null when there is no validation set
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<ParameterStore> parameters;
  std::unique_ptr<Objective> objective;
  std::unique_ptr<ViewWeights> views;    ///< null: every rank's losses weigh the same
  std::shared_ptr<Reduction> reduction;  ///< of every phase that sums gradients
  std::unique_ptr<PhaseSchedule> phases;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<LrSchedule> schedule;
  std::unique_ptr<BestWeights> best;  ///< null: each cycle goes on where the one before ended
  std::unique_ptr<LossScaler> scaler;
  Pass::Activations activations = Pass::Activations::keep;  ///< in training
  std::unique_ptr<Monitor> monitor;
  std::vector<std::unique_ptr<Observer>> observers;
};

struct Limits {
  std::int64_t steps = 0;
  std::uint64_t seed = 0;
  double max_norm = 1;
  std::int64_t eval_every = 0;        ///< 0: only at the end
  std::int64_t hash_every = 0;        ///< 0: never
  std::int64_t checkpoint_every = 0;  ///< 0: only at the end
  CheckpointRules checkpoints;
  std::string run_folder;  ///< where batches that cannot be learned from are kept; empty: nowhere
  UnusedParameters::When unused_parameters = UnusedParameters::When::refuse;
  Buffers buffers = Buffers::rank_0;
  std::function<int()> stop_signal = [] { return 0; };  ///< asked after every step; 0: go on
};

/// How a run came to its end.
enum class RunEnd { finished, stopped };

/// Where a run is: all that changes from step to step and is no tensor.
struct Progress {
  std::int64_t step = 0;       ///< steps finished
  std::int64_t position = 0;   ///< global index of the next sample
  std::int64_t tokens = 0;     ///< targets trained on, all ranks; common ones count once for all
  std::int64_t cycle_end = 0;  ///< the last step that ended a cycle, once that was dealt with
  std::int64_t seed = 0;
  std::int64_t epoch_samples = 0;  ///< the order of samples depends on it
  std::int64_t tokenizer_hash = 0, data_hash = 0;
  /// Of chaotic sharding: who deals what to how many; all 0 with even sharding.
  std::int64_t chaos_seed = 0, chaos_common = 0, chaos_ranks = 0;
  std::int64_t apart = 0;  ///< 1: each rank has weights and moments of its own

  void archive(Archive& archive);
};

class Trainer {
 public:
  Trainer(Parts& parts, const Limits& limits);

  /// Restores a checkpoint; Error(data) when it does not continue this run. Returns what is to be
  /// told about it.
  std::vector<std::string> resume(const std::string& checkpoint);
  std::int64_t first_step() const { return progress_.step; }
  /// About what one checkpoint takes on the disk, the parts of all ranks together.
  double checkpoint_bytes();

  /// Trains to limits.steps, then validates and saves; when a rank is asked to stop, saves after
  /// the step. Collective.
  RunEnd run();

 private:
  struct Outcome {
    double norm = 0;
    bool updated = false;
    bool due = false;
  };
  struct Waits {
    double messages_seconds = 0, data_seconds = 0;
  };
  Waits waited() const;  // since the start
  RunEnd stop();
  void enter(Phase& phase);
  void become_one();
  void share_buffers(const SyncRound& round);
  StepTotals fill_gradients(const SyncRound& round);
  Outcome update(const StepTotals& summed, double lr);
  void leave_out(std::string_view not_finite);
  void report(const StepTotals& totals, const Outcome& outcome, double lr, double step_seconds,
              const Waits& waits);
  void between_steps();
  bool end_cycle();  // whether one ended with the last step, and was not dealt with before
  void begin_cycle();
  std::optional<double> validate();
  void save();
  void finish_save();
  CheckpointContent content();
  std::string advice() const;  // what to do when numbers are lost
  bool apart() const;          // does each rank hold weights of its own?
  void compare_replicas();
  void check_replicas();
  void stop_if_hopeless(const Outcome& outcome, const StepTotals& totals);
  void note_learning(const Outcome& outcome, const StepTotals& totals);
  bool all_find_worth_saving();
  void tell_where_numbers_were_lost();
  void give_up_scaling();
  void say(const std::string& text);
  void warn(std::int64_t step, const std::string& text);
  void warn_of_repeats();

  Parts& parts_;
  Limits limits_;
  Phase* phase_;  // of the last step
  UnusedParameters unused_;
  Progress progress_;
  bool came_apart_ = false;  // were ranks apart in the checkpoint that this run goes on from?
  std::vector<Task> tasks_;  // of the step, with the weights it was made with
  Repeats repeats_;
  std::int64_t skipped_in_a_row_ = 0;    // without a scaler that may help
  std::int64_t unlearned_in_a_row_ = 0;  // for any reason
  bool worth_saving_ = true;             // what this rank has learned so far
  std::string lost_numbers_;             // how the steps skipped in a row began
  Checkpointer checkpoints_;
  Witness witness_;               // of the checkpoint last begun or read
  std::int64_t saved_step_ = -1;  // of the checkpoint last completed or read
};

}  // namespace skep
