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

void Traffic::set_phase(std::string_view phase) {
  phase_ = phase;
  last_ = counts_.end();
}

TrafficCounts& Traffic::of(std::string_view topology) {
  if (last_ == counts_.end() || last_->first.first != topology)
    last_ = counts_.try_emplace({std::string(topology), phase_}).first;
  return last_->second;
}

TrafficCounts Traffic::total() const {
  TrafficCounts sum;
  for (const auto& [key, counts] : counts_) sum += counts;
  return sum;
}

std::map<std::string, TrafficCounts, std::less<>> Traffic::by_topology() const {
  std::map<std::string, TrafficCounts, std::less<>> sums;
  for (const auto& [key, counts] : counts_) sums[key.first] += counts;
  return sums;
}

std::map<std::string, TrafficCounts, std::less<>> Traffic::by_phase() const {
  std::map<std::string, TrafficCounts, std::less<>> sums;
  for (const auto& [key, counts] : counts_) sums[key.second] += counts;
  return sums;
}

std::string to_string(const Traffic& traffic) {
  std::string text;
  for (const auto& [key, counts] : traffic.counts_) {
    const bool handed_over = key.first == library_name;
    text += fmt::format(
        "{}{:<18} {:<12} {} collectives, {} and {} bytes sent, {:.3f} s waited",
        text.empty() ? "" : "\n", key.first, key.second.empty() ? "start" : key.second,
        counts.collectives,
        handed_over ? "unknown messages" : fmt::format("{} messages", counts.messages_sent),
        counts.bytes_sent, counts.wait_seconds);
  }
  return text;
}

}  // namespace skep
