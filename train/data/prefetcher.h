#pragma once
// Batches made ahead of time by background threads. What a batch holds depends on its place in the
// sequence alone, so any number of threads gives the same batches in the same order; a thread makes
// whole batches, talks to nobody and calls no MPI. At most `depth` batches wait, in buffers that
// are used again.
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "train/data/loader.h"

namespace skep {

class Prefetcher {
 public:
  struct Settings {
    std::int64_t workers = 0;  ///< threads; 0: batches are made when they are asked for
    std::int64_t depth = 2;    ///< batches ready ahead of the one in use
  };
  /// Writes micro-batch `index` of the step that starts at `position`; many threads at once.
  using Make = std::function<void(std::int64_t position, std::int64_t index, Batch& out)>;
  using Clock = std::function<double()>;  ///< in seconds

  /// `clock` is read by the asking thread only.
  Prefetcher(Make make, BatchSplit split, Settings settings, Clock clock = steady_seconds);
  /// Waits for the batches that are being made, and for no others.
  ~Prefetcher() = default;
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Valid until the next call. Asking in order finds batches ready; any other place starts afresh
  /// from there. An exception thrown while making a batch is thrown when that batch is asked for.
  const Batch& micro_batch(std::int64_t position, std::int64_t index);

  /// How long callers of micro_batch have waited, in total.
  double waited_seconds() const { return waited_seconds_; }

 private:
  struct Place {
    std::int64_t position = -1, index = 0;
    bool operator==(const Place&) const = default;
  };
  struct Slot {
    Batch batch;
    bool ready = false;
    std::exception_ptr failure;
  };
  static double steady_seconds();
  void start(Place first);
  void work(std::stop_token stop);
  Place after(Place place) const;
  Slot& slot(std::int64_t number) {
    return slots_[static_cast<std::size_t>(number) % slots_.size()];
  }
  const Batch& made_now(Place place);
  const Batch& made_ahead(Place place);

  Make make_;
  BatchSplit split_;
  Settings settings_;
  Clock clock_;
  double waited_seconds_ = 0;

  std::mutex mutex_;  // guards all below but the batch of a slot that is not ready or is in use
  std::condition_variable_any changed_;
  std::vector<Slot> slots_;            // batch n lies in slot n % (depth + 1): one is in use
  Place wanted_;                       // next to be asked for, batch number taken_
  std::int64_t taken_ = 0;             // batches handed out
  Place unmade_;                       // next to be made, batch number begun_
  std::int64_t begun_ = 0;             // batches that a thread has taken on
  std::vector<std::jthread> threads_;  // last: they end first
};

}  // namespace skep
