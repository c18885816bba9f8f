#pragma once
// The seam between plans and wires: non-blocking point-to-point messages of typed elements.
// Messages between two ranks with one tag arrive in the order they were sent. A receive is for a
// message of exactly its count and type; anything else is a CommError.
#include "mpi_comm/wire.h"

namespace skep {

/// A message under way. Spent once `test` has returned true for it.
using Ticket = int;

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

  /// Called between fruitless tests: gives the processor away when that helps.
  virtual void idle() = 0;
  /// This rank is failing: buffers of unfinished messages are about to vanish.
  virtual void abandon() noexcept = 0;
};

}  // namespace skep
