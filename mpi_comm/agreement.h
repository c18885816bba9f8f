#pragma once
// Whether the ranks start the same collectives in the same order. Each sends the fingerprint of
// what it starts to the next position of its group and compares the one it gets; a difference ends
// the run with one line that shows both sides. That costs one small message a collective.
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "mpi_comm/fingerprint_channel.h"
#include "mpi_comm/flight_recorder.h"
#include "mpi_comm/traffic.h"

namespace skep {

/// basic: neighbours compare while the data moves. full: the whole group compares before any data
/// moves; every rank then knows all sides.
enum class Check { basic, full };

class Agreement {
 public:
  /// Without a channel nothing is compared. The recorder has this rank's own calls.
  Agreement(std::unique_ptr<FingerprintChannel> channel, const FlightRecorder& recorder)
      : channel_(std::move(channel)), recorder_(recorder) {}

  Check check() const { return check_; }
  /// The same on all ranks, while nothing is in flight.
  void set_check(Check check) { check_ = check; }

  /// Tells the others of `group` what this rank starts. A group of less than two is not compared.
  void announce(const Fingerprint& mine, const std::vector<int>& group, TrafficCounts& counts);
  /// Compares what has come; true when anything had. CommError(bug) at a difference.
  bool progress() { return !expected_.empty() && listen(); }
  /// Whether all that was to be compared about this collective has been.
  bool reached(std::uint64_t sequence) const;
  /// A difference has been found: nothing in flight can be relied on to complete.
  bool failed() const { return failed_; }
  /// After a message did not fit: the fingerprint that explains it may be on its way. Throws the
  /// CommError(bug) for it, or returns after a second.
  void look_for_mismatch();

 private:
  struct Expected {
    Fingerprint mine;
    int missing;
    std::vector<Fingerprint> seen;  // with full
  };
  bool listen();
  void consider(const Fingerprint& print);
  Expected* find(std::uint64_t sequence);
  [[noreturn]] void fail(const Expected& expected, const Fingerprint& other);
  [[noreturn]] void fail_with(std::span<const Fingerprint> sides);

  std::unique_ptr<FingerprintChannel> channel_;
  const FlightRecorder& recorder_;
  Check check_ = Check::basic;
  bool failed_ = false;
  std::uint64_t announced_ = 0;     // sequence numbers below this one
  std::deque<Expected> expected_;   // in sequence
  std::vector<Fingerprint> early_;  // of collectives this rank has yet to start
};

}  // namespace skep
