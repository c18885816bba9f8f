#pragma once
// One plan being carried out on one buffer: posts a round, combines or stores what arrives in the
// listed order (so results do not depend on timing), and goes on to the next round. Never blocks.
// Long transfers travel in pieces: while one is combined, still in cache, the next arrives.
// The object is reused: its scratch memory grows to the largest round seen and then stays.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mpi_comm/combine.h"
#include "mpi_comm/plan.h"
#include "mpi_comm/plan_buffer.h"
#include "mpi_comm/traffic.h"
#include "mpi_comm/transport.h"

namespace skep {

/// How long transfers are cut.
struct Pieces {
  /// Elements in one message at most; the same on all ranks.
  std::size_t max_chunk;
  /// Bytes awaited at a time that are to be combined on arrival. Where a message is a copy of
  /// memory they should fit a core's cache; a network wants as much on its way as it carries
  /// between two looks.
  std::size_t window_bytes;
};

class Execution {
 public:
  void begin(Plan plan, const PlanBuffer& buffer, Combine how, int tag, const Pieces& pieces,
             TrafficCounts& counts);
  /// A call handed to the transport as a whole, in flight like a plan.
  void begin(const LibraryCall& call, TrafficCounts& counts);
  /// Goes as far as it can; true when anything moved.
  bool advance(Transport& transport);
  bool done() const { return round_ == plan_.rounds.size(); }
  std::size_t round() const { return round_; }  ///< rounds finished
  TrafficCounts& counts() { return *counts_; }
  /// Its place among all collectives of this rank.
  std::uint64_t sequence() const { return sequence_; }
  void set_sequence(std::uint64_t sequence) { sequence_ = sequence; }

 private:
  struct Arrival {
    int peer;
    WireSpan target;  // where the message belongs
    Ticket ticket = -1;
  };
  void post(Transport& transport);
  void prepare_inbox(OnArrival action);
  /// Where a message lands: where it belongs, unless it is to be combined.
  WireSpan landing(std::size_t arrival);
  /// Posts receives as far as there is room.
  void await(Transport& transport);
  bool collect(Transport& transport);

  Plan plan_;
  std::optional<LibraryCall> call_;  // in the place of the plan
  PlanBuffer buffer_{WireSpan{nullptr, 0, WireType::u8}};
  Combine how_ = Combine::sum;
  int tag_ = 0;
  std::uint64_t sequence_ = 0;
  Pieces pieces_{};
  TrafficCounts* counts_ = nullptr;

  std::size_t round_ = 0;
  bool posted_ = false;
  std::vector<Arrival> arrivals_;  // all of the round, in the order of combining
  std::vector<Ticket> departures_;
  std::size_t arrived_ = 0, awaited_ = 0, departed_ = 0;  // how many of them
  std::vector<std::byte> inbox_;  // slots, where what is to be combined lands
  std::size_t slots_ = 0, slot_bytes_ = 0;
};

}  // namespace skep
