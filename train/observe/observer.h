#pragma once
// Observers see what a run does and change nothing: console, metrics file, later more.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skep {

/// How a quantity differs among the ranks.
struct Spread {
  std::string name;  ///< as in metrics.jsonl
  double min = 0, median = 0, max = 0;
};

/// One of the losses that are minimised together.
struct TaskReport {
  std::string name;   ///< as in metrics.jsonl
  double loss = 0;    ///< mean over all tokens of all ranks, without its weight
  double weight = 1;  ///< its factor after the step
  std::optional<double> log_variance = {};  ///< where the factor is learned
};

/// The end of a cycle of the learning rate.
struct CycleReport {
  std::int64_t step = 0;       ///< steps finished
  std::int64_t cycle = 0;      ///< the one that ended, from 0
  double jitter = 0;           ///< its highest rate was this share above optim.lr
  double validation_loss = 0;  ///< NaN where there is no validation set
  std::int64_t next_from = 0;  ///< the next cycle begins with the weights after so many steps
};

/// One finished step. Sums and norms are global; times and bytes are this rank's.
struct StepReport {
  std::int64_t step = 0;  ///< steps finished, this one included
  double epoch = 0;       ///< passes over the training windows, with fraction
  double loss = 0;        ///< mean over all tokens of all ranks; NaN when there were none
  double lr = 0;
  double grad_norm = 0;
  std::int64_t tokens = 0;  ///< targets trained on so far, all ranks
  std::int64_t updates = 0;
  double tokens_per_second = 0;  ///< all ranks
  double step_seconds = 0;
  double compute_seconds = 0;
  double comm_wait_seconds = 0;
  double loader_wait_seconds = 0;  ///< until the batches were there
  std::uint64_t bytes_sent = 0;    ///< by this rank since the start
  std::string topology;
  std::string sync;
  double scale = 1;      ///< of the loss in backward
  bool skipped = false;  ///< no update: nothing to learn from, or not finite
  std::int64_t rss_bytes = 0, peak_rss_bytes = 0;
  std::int64_t gpu_bytes = 0, peak_gpu_bytes = 0;  ///< taken from it; most of all tensors; or 0
  double cpu_seconds = 0;            ///< of all this process's threads since the last step
  std::vector<Spread> over_ranks;    ///< every run.log_every steps (monitor.h), else empty
  std::vector<TaskReport> tasks;     ///< empty: there is one
  std::vector<double> view_weights;  ///< factors of all ranks' losses; empty: all are 1
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_step(const StepReport&) {}
  virtual void on_validation(std::int64_t step, double loss) = 0;
  virtual void on_cycle(const CycleReport&) {}
  /// A line for people: what was read, saved, skipped.
  virtual void on_message(const std::string&) {}
  /// One that asks for attention.
  virtual void on_warning(const std::string& text) { on_message("warning: " + text); }
};

}  // namespace skep
