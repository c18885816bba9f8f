#pragma once
// What each rank uses, seen side by side: memory, CPU time, computing and waiting. Every few steps
// one small gather after the step brings the numbers of all ranks to all ranks; it touches nothing
// that is trained. From them come the spread over ranks in metrics.jsonl, and warnings of a rank
// that keeps the others waiting and of a host that runs out of memory.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/core/device.h"
#include "mpi_comm/communicator.h"
#include "train/doctor/memory.h"
#include "train/observe/observer.h"
#include "train/observe/straggler.h"

namespace skep {

class Monitor {
 public:
  /// Memory is short when less than this share of it is left.
  static constexpr double short_share = 0.05;
  /// A rank's typical step is the median of so many, over at least so long: what else runs on a
  /// machine slows now this rank, now that one.
  static constexpr std::size_t least_steps = 10, most_steps = 200;
  static constexpr double least_seconds = 5;

  /// Looks at all ranks in steps that `every` divides; the communicator must outlive it. `device`:
  /// where the rank computes.
  Monitor(
      Communicator& comm, std::int64_t every,
      std::function<doctor::Memory()> find_memory = [] { return doctor::find_memory(); },
      Device device = {});

  /// Fills in what this rank uses and, where it is time, the spread over ranks. Returns warnings,
  /// the same ones on every rank. Collective.
  std::vector<std::string> look(StepReport& report);

 private:
  struct Usage;
  Usage usage_since_last_look(const StepReport& report);
  std::vector<Usage> gather(const Usage& mine);
  void warn_of_stragglers(const std::vector<Usage>& ranks, std::vector<std::string>& warnings);
  void warn_of_short_memory(const std::vector<Usage>& ranks, std::vector<std::string>& warnings);

  Communicator& comm_;
  std::int64_t every_;
  std::function<doctor::Memory()> find_memory_;
  Device device_;
  std::vector<std::string> hosts_;       // of each rank; known from the first look on
  std::vector<double> compute_seconds_;  // of the steps since stragglers were last looked for
  double window_seconds_ = 0;            // that these looks cover; the same on every rank
  std::int64_t steps_ = 0;               // since the last look, as are the sums that follow
  double computed_seconds_ = 0, waited_seconds_ = 0, loaded_seconds_ = 0;
  double used_cpu_seconds_ = 0;
  double cpu_seconds_before_ = 0;
  StragglerWatch stragglers_;
  std::set<std::string> short_hosts_;  // that have been warned of
};

}  // namespace skep
