#pragma once
// Checkpoint fusion: a base is a whole checkpoint, and each of the up to `max_diffs` after it holds
// only the difference from the one before; ranks that are apart hold theirs from rank 0.
// It helps where few bits change from save to save, or where replicas are nearly or wholly the
// same. It costs a second copy of what this rank saves in memory, where ranks have state of their
// own a broadcast of rank 0's, and a restore that reads all links from the base on.
#include <atomic>
#include <optional>
#include <string>

#include "mpi_comm/communicator.h"
#include "train/checkpoint/manifest.h"
#include "train/checkpoint/snapshot.h"

namespace skep {

/// Tensors of this rank in one save, and what they may be told as a difference from.
struct TensorPiece {
  Snapshot now, reference;
  std::string against;  ///< the reference's file, in the same checkpoint; empty: in the one before
  enum class As { whole, difference } as = As::whole;
};

/// Tensors that all ranks hold alike, of which this rank writes a part; and those of its own.
struct TensorPieces {
  TensorPiece shared, own;
};

class BaseDiff {
 public:
  /// max_diffs of 0: every checkpoint is whole.
  BaseDiff(Communicator& comm, std::string folder, std::int64_t max_diffs);

  /// Before the tensors of a save are copied: those of the last one become references.
  void turn(TensorPieces& pieces) const;
  /// Collective. After it: says how each piece is to be written.
  void decide(TensorPieces& pieces);
  /// What the save continues; nothing for a base.
  const std::optional<Link>& previous() const { return previous_; }
  /// "base", "difference 2 of 8", or nothing where every checkpoint is whole.
  std::string describe() const;
  /// The save is complete, under a manifest of this hash (which only rank 0 needs to know).
  void completed(std::int64_t step, std::uint64_t manifest_xxh3);

 private:
  bool can_continue(const TensorPieces& pieces) const;
  void differ_from_rank_0(TensorPiece& own) const;

  Communicator& comm_;
  std::string folder_;
  std::int64_t max_diffs_;
  std::int64_t diffs_ = 0;        // since the base, that of the save under way included
  std::optional<Link> last_;      // the last complete one
  std::optional<Link> previous_;  // of the one under way
};

/// Writes the pieces that are differences into one file `name` below `folder`; returns when the
/// disk has confirmed it. Error(storage).
WrittenFiles write_differences(const TensorPieces& pieces, const std::string& folder,
                               const std::string& name, const std::atomic<bool>& give_up);

}  // namespace skep
