#pragma once
// Carries out plans over a transport, any number of them at once. Nothing moves by itself: whoever
// computes calls progress() now and then, and waiting progresses everything in flight.
// All ranks start the same plans in the same order: the start's number is the messages' tag, which
// keeps plans in flight apart.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi_comm/agreement.h"
#include "mpi_comm/combine.h"
#include "mpi_comm/execution.h"
#include "mpi_comm/fingerprint_channel.h"
#include "mpi_comm/flight_recorder.h"
#include "mpi_comm/plan.h"
#include "mpi_comm/traffic.h"
#include "mpi_comm/transport.h"

namespace skep {

class Executor;

/// A plan in flight. Its buffer must live and stay untouched until wait() has returned. Letting go
/// of an unfinished one waits for it; while an exception passes only for a moment: the run is
/// ending.
class [[nodiscard]] Pending {
 public:
  Pending(Pending&& other) noexcept;
  Pending& operator=(Pending&&) = delete;
  ~Pending();
  /// Whether it is complete, as of the last progress().
  bool done() const;
  /// Returns when this rank's part is complete. A second call returns at once.
  void wait();

 private:
  friend class Executor;
  Pending(Executor& executor, Execution& execution);
  Executor* executor_;
  Execution* execution_;
  int exceptions_;  // in flight when this was made
};

class Executor {
 public:
  /// MPI counts are int. A multiple of 64 keeps chunks aligned.
  static constexpr std::size_t largest_chunk = (std::size_t{1} << 31) - 64;
  /// 256 KiB of fp32: a message and what it is added to fit a core's cache together.
  static constexpr std::size_t default_max_chunk = std::size_t{1} << 16;
  /// Four such messages, cached beside the elements they are combined into.
  static constexpr std::size_t default_window_bytes = std::size_t{1} << 20;

  /// Without a channel the ranks' plans are not compared.
  Executor(Transport& transport, Traffic& traffic,
           std::unique_ptr<FingerprintChannel> channel = nullptr);
  Pending start(Plan plan, const PlanBuffer& buffer, Combine how);
  /// The same for a call that is handed to the transport as a whole.
  Pending start(const LibraryCall& call);
  /// Carries such a call out at once, after everything in flight: while the library waits, nothing
  /// else moves.
  void run(const LibraryCall& call);
  /// Moves everything in flight as far as it goes; true when anything moved.
  bool progress();
  /// Elements in one message, at least 1; set it alike on all ranks while nothing is in flight.
  void set_max_chunk(std::size_t elements);
  /// Bytes of a plan awaited at a time where they are combined on arrival (see Pieces).
  void set_window(std::size_t bytes) { pieces_.window_bytes = bytes; }
  /// How the ranks' plans are compared; set it alike on all ranks while nothing is in flight.
  void set_check(Check check);
  FlightRecorder& recorder() { return recorder_; }

 private:
  friend class Pending;
  Execution& take();
  Pending set_off(Execution& execution);
  /// Records the call, and with Check::full compares it with the other ranks'.
  std::uint64_t enter(const LibraryCall& call, TrafficCounts& counts);
  bool advance(Execution& execution);
  bool complete(const Execution& execution) const {
    return execution.done() && agreement_.reached(execution.sequence());
  }
  template <class Condition>
  void wait_until(Execution& execution, Condition condition);
  /// False when it is not complete after `limit`; from then on no later one is waited for either.
  bool try_wait(Execution& execution, std::chrono::milliseconds limit) noexcept;
  void release(Execution& execution);

  Transport& transport_;
  Traffic& traffic_;
  Pieces pieces_{default_max_chunk, default_window_bytes};
  std::uint64_t started_ = 0;
  bool gave_up_ = false;
  FlightRecorder recorder_;
  Agreement agreement_;
  std::vector<std::unique_ptr<Execution>> all_;
  std::vector<Execution*> in_flight_, spare_;
};

}  // namespace skep
