#pragma once
// The seam between plans and wires: non-blocking point-to-point messages of typed elements.
// Messages between two ranks with one tag arrive in the order they were sent. A receive is for a
// message of exactly its count and type; anything else is a CommError.
// A transport may also have collectives of its own among all ranks, to be used instead of plans.
#include <vector>

#include "mpi_comm/collective.h"
#include "mpi_comm/combine.h"
#include "mpi_comm/wire.h"

namespace skep {

/// A message under way. Spent once `test` has returned true for it.
using Ticket = int;

/// A collective among all ranks, left to the transport as a whole.
struct LibraryCall {
  Collective what = Collective::all_reduce;
  WireSpan data{nullptr, 0, WireType::u8};
  Combine how = Combine::sum;
  int root = 0;               ///< broadcast: from this rank
  std::vector<Range> blocks;  ///< all_gather: each rank's block; reduce_scatter: each rank's result
  std::size_t max_count = (std::size_t{1} << 31) - 64;  ///< elements in one call of the library
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Tags are 0 … tag_count() - 1.
  virtual int tag_count() const = 0;

  /// The data must stay as it is until the ticket is spent. Counts are below 2^31.
  virtual Ticket send(int peer, int tag, WireView data) = 0;
  virtual Ticket receive(int peer, int tag, WireSpan data) = 0;
  /// Moves messages along; true when this one is complete.
  virtual bool test(Ticket ticket) = 0;

  virtual bool has_collectives() const { return false; }
  /// Carries the call out before it returns.
  virtual void call(const LibraryCall& call);
  /// Begins it; all the tickets together stand for it.
  virtual std::vector<Ticket> begin_call(const LibraryCall& call);

  /// Called between fruitless tests: gives the processor away when that helps.
  virtual void idle() = 0;
  /// This rank is failing: buffers of unfinished messages are about to vanish.
  virtual void abandon() noexcept = 0;
};

}  // namespace skep
