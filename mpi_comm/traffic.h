#pragma once
// What went over the wire and how long it was waited for, per topology, since the start.
// Bytes are payload, counted when a message is handed to the transport; they must equal the plan.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

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

class Traffic {
 public:
  /// The counters of a topology; the reference stays valid.
  TrafficCounts& of(std::string_view topology);
  TrafficCounts total() const;
  const std::map<std::string, TrafficCounts, std::less<>>& by_topology() const { return counts_; }

 private:
  std::map<std::string, TrafficCounts, std::less<>> counts_;
};

/// One line a topology, for the log.
std::string to_string(const Traffic& traffic);

}  // namespace skep
