#pragma once
// Saves checkpoints beside training: the state is copied, a thread on each rank writes its part,
// and when all parts are on the disk the checkpoint is completed at the end of a step. All
// communication stays on the caller's thread. Until it is complete, the one before it is the
// newest.
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "mpi_comm/communicator.h"
#include "train/checkpoint/content.h"
#include "train/checkpoint/snapshot.h"

namespace skep {

struct SavedCheckpoint {
  std::int64_t step;
  std::string path;
  double stall_seconds;  ///< that training did not go on because of it
  double total_seconds;  ///< until it was complete
};

class Checkpointer {
 public:
  /// Checkpoints go to FOLDER/step-N; the `keep` newest stay.
  Checkpointer(Communicator& comm, std::string folder, std::int64_t keep);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Collective. Copies the content and begins to write it; nothing may be under way.
  void begin(std::int64_t step, const CheckpointContent& content);
  /// Whether this rank's part of the one under way is on the disk, or has failed.
  bool written() const;
  /// Collective. Waits for the parts of the one under way and completes it; nothing, if none is.
  /// Error(storage) on every rank when any rank failed, with earlier checkpoints untouched.
  std::optional<SavedCheckpoint> finish();

 private:
  using Clock = std::chrono::steady_clock;
  void copy(const CheckpointContent& content);
  void copy_model(const CheckpointContent& content, std::vector<FileImage> shared);

  Communicator& comm_;
  std::string folder_;
  std::int64_t keep_;
  Snapshot snapshot_;
  std::atomic<bool> give_up_ = false;
  std::int64_t step_ = 0;
  Clock::time_point begun_;
  double stall_seconds_ = 0;
  std::future<std::vector<WrittenPart>> writing_;  // of the one under way
  std::future<void> tidying_;                      // on rank 0, after the last one
};

}  // namespace skep
