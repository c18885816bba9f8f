#pragma once
// When and how gradients (or weights) meet the other ranks. A rule is one class; the trainer calls
// it around backward and after the optimizer.
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/core/archive.h"
#include "model/parameter_store.h"
#include "mpi_comm/communicator.h"

namespace skep {

/// What one step's micro-batches added up to.
struct StepTotals {
  double loss_sum = 0;  ///< sum of token losses
  double tokens = 0;    ///< targets that were not ignored
  double stop_requests =
      0;  ///< ranks that were asked to stop: they travel with what travels anyway
  double saves_written = 0;  ///< ranks whose part of the checkpoint under way is on the disk
  std::array<double, 2> task_sums{};  ///< of the token losses of each task, without weights
};

/// The totals as they travel.
using TravellingTotals = std::array<double, 6>;
TravellingTotals to_numbers(const StepTotals& totals);
StepTotals from_numbers(std::span<const double, 6> numbers);

/// The wires of one step.
struct SyncRound {
  Communicator& comm;
  const Topology& topology;
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  double loss_scale = 1;              ///< the gradients are this many times those of the loss
  std::int64_t step_in_phase = step;  ///< periods are counted from the phase's first step

  Route route() const { return {topology, seed, static_cast<long>(step)}; }
  Place place() const { return comm.place(seed, static_cast<long>(step)); }
  bool begins_period(std::int64_t period) const { return step_in_phase % period == 0; }
  bool ends_period(std::int64_t period) const { return (step_in_phase + 1) % period == 0; }
};

/// Which backward of a step: gradients gather over its micro-batches.
struct MicroBatch {
  std::int64_t index = 0, count = 1;
  bool first() const { return index == 0; }
  bool last() const { return index + 1 == count; }
};

enum class Update { due, not_yet };

/// Whether all ranks hold the same parameters and optimizer state after every step, or each its
/// own.
enum class Replicas { equal, apart };

/// How a step that was due ended.
enum class StepEnd { updated, skipped };

/// What a step's gradients have become.
struct SyncOutcome {
  Update update = Update::due;
  StepTotals summed;  ///< what the gradients in the store are sums over
  StepTotals global;  ///< over all ranks: for the report
};

/// `own` summed over all ranks of the run. Collective.
StepTotals sum_over_all(const StepTotals& own, Communicator& comm);

class GradientSync {
 public:
  virtual ~GradientSync() = default;
  virtual std::string name() const = 0;
  /// A change of phase waits for the end of a period of so many steps.
  virtual std::int64_t period() const { return 1; }
  /// Before the first micro-batch of a step.
  virtual void begin_step(ParameterStore& store) { store.clear_gradients(); }
  /// Before each backward. From the last one on, a complete gradient is this rank's share of the
  /// step and may travel.
  virtual void before_backward(ParameterStore&, const SyncRound&, MicroBatch) {}
  /// Between the ops of backward, and whenever there is time: moves what travels.
  virtual void progress() {}
  /// After each backward, before any other collective: what travels from here has set out, in the
  /// same order on all ranks, however long a GPU took.
  virtual void end_backward() {}
  virtual Replicas replicas() const { return Replicas::equal; }
  /// Whether ranks that were apart must become one before this rule takes over.
  virtual Replicas starts_from() const { return replicas(); }
  /// Gradients in the store are sums over this rank's tokens, `own` says how many.
  virtual SyncOutcome after_backward(ParameterStore& store, const StepTotals& own,
                                     const SyncRound& round) = 0;
  virtual void after_update(ParameterStore&, const SyncRound&, StepEnd) {}
  /// State of this rank's own that is no parameter, such as a partial gradient.
  virtual bool keeps_state() const { return false; }
  virtual void archive(Archive&, ParameterStore&) {}
};

}  // namespace skep
