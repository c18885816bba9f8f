#pragma once
// The elements a plan's ranges count: first those of `front`, which are only read, then those of
// `data`. Most collectives work on `data` alone; an exchange reads one buffer and fills another.
#include <cstddef>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/wire.h"

namespace skep {

class PlanBuffer {
 public:
  PlanBuffer(WireSpan data) : front_(nullptr, 0, data.type()), data_(data) {}
  template <WritableWireBuffer R>
  PlanBuffer(R&& buffer) : PlanBuffer(WireSpan(buffer)) {}
  /// Both of one element type.
  PlanBuffer(WireView front, WireSpan data) : front_(front), data_(data) {}

  WireType type() const { return data_.type(); }
  std::size_t count() const { return front_.count() + data_.count(); }
  /// Elements [begin, begin + count), which lie in one of the two buffers.
  WireView read(std::size_t begin, std::size_t count) const {
    if (begin < front_.count()) return front_.part(begin, count);
    return data_.part(begin - front_.count(), count);
  }
  WireSpan write(std::size_t begin, std::size_t count) const {
    comm_check(begin >= front_.count(), "a plan stores into element {}, one of {} only to be read",
               begin, front_.count());
    return data_.part(begin - front_.count(), count);
  }

 private:
  WireView front_;
  WireSpan data_;
};

}  // namespace skep
