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
#include "train/checkpoint/base_diff.h"
#include "train/checkpoint/content.h"
#include "train/checkpoint/snapshot.h"
#include "train/checkpoint/state_archive.h"

namespace skep {

struct SavedCheckpoint {
  std::int64_t step;
  std::string path;
  double stall_seconds;  ///< that training did not go on because of it
  double total_seconds;  ///< until it was complete
  std::uint64_t bytes;   ///< of all ranks, on the disk
  std::string link;      ///< its place in a chain, in words; or empty
};

struct CheckpointRules {
  std::string folder;          ///< checkpoints go to FOLDER/step-N
  std::int64_t keep = 3;       ///< the newest stay, with all that they continue
  std::int64_t max_diffs = 0;  ///< that continue a whole one; 0: all are whole
};

class Checkpointer {
 public:
  Checkpointer(Communicator& comm, CheckpointRules rules);
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
  void copy_tensors(const CheckpointContent& content, const CollectingArchive& archive);
  void copy_texts(const CheckpointContent& content, const CollectingArchive& archive);
  void share(std::vector<FileImage> files);
  WrittenFiles write(const std::string& folder) const;
  std::uint64_t complete(const std::string& unfinished, const std::vector<std::string>& texts);

  Communicator& comm_;
  CheckpointRules rules_;
  BaseDiff base_diff_;
  TensorPieces tensors_;
  Snapshot texts_;
  std::atomic<bool> give_up_ = false;
  std::int64_t step_ = 0;
  Clock::time_point begun_;
  double stall_seconds_ = 0;
  std::future<WrittenFiles> writing_;  // of the one under way
  std::future<void> tidying_;          // on rank 0, after the last one
};

}  // namespace skep
