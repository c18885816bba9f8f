#pragma once
// What went over the wire and how long it was waited for, since the start: per topology, and per
// phase, a name that the caller gives to what it is doing. Bytes are payload, counted when a
// message is handed to the transport; they must equal the plan. Collectives of the MPI library
// itself are counted as topology library_name with the bytes of their buffer: its messages are not
// known.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace skep {

struct TrafficCounts {
  std::uint64_t collectives = 0;
  std::uint64_t messages_sent = 0, messages_received = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  double wait_seconds = 0;             ///< time in which nothing moved while the caller waited
  std::uint64_t check_bytes_sent = 0;  ///< fingerprints (agreement.h), not among the bytes above

  TrafficCounts& operator+=(const TrafficCounts& other);
  bool operator==(const TrafficCounts&) const = default;
};

/// The name under which collectives handed to the MPI library are counted.
constexpr std::string_view library_name = "mpi";

class Traffic {
 public:
  /// What is counted from now on belongs to this phase. At first, the phase without a name.
  void set_phase(std::string_view phase);
  /// The counters of a topology in the present phase; the reference stays valid.
  TrafficCounts& of(std::string_view topology);
  TrafficCounts total() const;
  std::map<std::string, TrafficCounts, std::less<>> by_topology() const;
  std::map<std::string, TrafficCounts, std::less<>> by_phase() const;

 private:
  using Key = std::pair<std::string, std::string>;  // topology, phase
  std::string phase_;
  std::map<Key, TrafficCounts> counts_;
  std::map<Key, TrafficCounts>::iterator last_ = counts_.end();  // mostly asked for again

  friend std::string to_string(const Traffic& traffic);
};

/// One line a topology and phase, for the log.
std::string to_string(const Traffic& traffic);

}  // namespace skep
