#include "mpi_comm/traffic.h"

#include <fmt/format.h>

namespace skep {

TrafficCounts& TrafficCounts::operator+=(const TrafficCounts& other) {
  collectives += other.collectives;
  messages_sent += other.messages_sent;
  messages_received += other.messages_received;
  bytes_sent += other.bytes_sent;
  bytes_received += other.bytes_received;
  wait_seconds += other.wait_seconds;
  check_bytes_sent += other.check_bytes_sent;
  return *this;
}

TrafficCounts& Traffic::of(std::string_view topology) {
  const auto found = counts_.find(topology);
  return found != counts_.end() ? found->second : counts_[std::string(topology)];
}

TrafficCounts Traffic::total() const {
  TrafficCounts sum;
  for (const auto& [name, counts] : counts_) sum += counts;
  return sum;
}

std::string to_string(const Traffic& traffic) {
  std::string text;
  for (const auto& [name, counts] : traffic.by_topology())
    text += fmt::format("{:<18} {} collectives, {} messages and {} bytes sent, {:.3f} s waited\n",
                        name, counts.collectives, counts.messages_sent, counts.bytes_sent,
                        counts.wait_seconds);
  return text;
}

}  // namespace skep
