#include "mpi_comm/heartbeat.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace skep {
namespace {

using Json = nlohmann::ordered_json;

double now_seconds() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// A reader sees the old file or the new one. Not flushed to the disk: it matters only while the
// machine is up.
void replace_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".new";
  std::ofstream(temporary) << text;
  std::rename(temporary.c_str(), path.c_str());
}

Json to_json(const CollectiveRecord& record) {
  const Fingerprint& call = record.call;
  Json json;
  json["sequence"] = call.sequence;
  json["operation"] = call.operation.view();
  json["call"] = to_string(call);
  json["group"] = call.group;
  json["rounds_done"] = record.round;
  json["rounds"] = record.rounds;
  json["started"] = 1e-9 * static_cast<double>(record.start_ns);
  json["ended"] = record.done() ? Json(1e-9 * static_cast<double>(record.end_ns)) : Json();
  json["activity"] = record.activity.view();
  return json;
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "", fmt::join(ranks, ","));
}

// `round 2`, or `rounds 0-2` when the ranks have come differently far.
std::string rounds_text(const std::vector<std::uint32_t>& rounds) {
  const auto [least, most] = std::minmax_element(rounds.begin(), rounds.end());
  if (*least == *most) return fmt::format("round {}", *least);
  return fmt::format("rounds {}-{}", *least, *most);
}

std::string waiting_text(const std::vector<Heartbeat>& beats) {
  struct Waiting {
    std::vector<int> ranks;
    std::vector<std::uint32_t> rounds;
  };
  std::map<std::tuple<std::uint64_t, std::string, std::string>, Waiting> collectives;
  for (const Heartbeat& beat : beats) {
    if (!beat.waits) continue;
    Waiting& waiting = collectives[{beat.sequence, beat.operation, beat.topology}];
    waiting.ranks.push_back(beat.rank);
    waiting.rounds.push_back(beat.round);
  }
  std::vector<std::string> parts;
  for (const auto& [call, waiting] : collectives) {
    const auto& [sequence, operation, topology] = call;
    parts.push_back(fmt::format("{} wait{} in {} #{} ({}, {})", ranks_text(waiting.ranks),
                                waiting.ranks.size() > 1 ? "" : "s", operation, sequence, topology,
                                rounds_text(waiting.rounds)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

Heartbeat make_heartbeat(const FlightRecorder& recorder, int rank) {
  static const std::string host = host_name();
  Heartbeat beat;
  beat.rank = rank;
  beat.host = host;
  beat.pid = getpid();
  beat.written = now_seconds();
  beat.activity = recorder.activity().view();
  if (const auto record = recorder.awaited()) {
    beat.waits = true;
    beat.operation = record->call.operation.view();
    beat.topology = record->call.topology.view();
    beat.sequence = record->call.sequence;
    beat.round = record->round;
  }
  return beat;
}

double idle_now(const Heartbeat& beat) {
  return beat.idle_seconds + std::max(0.0, now_seconds() - beat.written);
}

double silent_now(const Heartbeat& beat) {
  return beat.leaves ? 0 : std::max(0.0, now_seconds() - beat.written);
}

std::string heartbeat_path(const std::string& folder, int rank) {
  return fmt::format("{}/heartbeat.rank-{}", folder, rank);
}

void write_heartbeat(const std::string& folder, const Heartbeat& beat) {
  Json json;
  json["rank"] = beat.rank;
  json["host"] = beat.host;
  json["pid"] = beat.pid;
  json["written"] = beat.written;
  json["idle_seconds"] = beat.idle_seconds;
  json["activity"] = beat.activity;
  json["waits"] = beat.waits;
  json["operation"] = beat.operation;
  json["topology"] = beat.topology;
  json["sequence"] = beat.sequence;
  json["round"] = beat.round;
  json["leaves"] = beat.leaves;
  replace_file(heartbeat_path(folder, beat.rank), json.dump() + "\n");
}

std::optional<Heartbeat> read_heartbeat(const std::string& folder, int rank) {
  std::ifstream file(heartbeat_path(folder, rank));
  const Json json = Json::parse(file, nullptr, false);
  if (!json.is_object()) return {};
  try {
    Heartbeat beat;
    beat.rank = rank;
    json.at("host").get_to(beat.host);
    json.at("pid").get_to(beat.pid);
    json.at("written").get_to(beat.written);
    json.at("idle_seconds").get_to(beat.idle_seconds);
    json.at("activity").get_to(beat.activity);
    json.at("waits").get_to(beat.waits);
    json.at("operation").get_to(beat.operation);
    json.at("topology").get_to(beat.topology);
    json.at("sequence").get_to(beat.sequence);
    json.at("round").get_to(beat.round);
    json.at("leaves").get_to(beat.leaves);
    return beat;
  } catch (const Json::exception&) {
    return {};
  }
}

std::string flight_path(const std::string& folder, int rank) {
  return fmt::format("{}/flight.rank-{}.json", folder, rank);
}

void write_flight(const std::string& folder, const FlightRecorder& recorder, const Heartbeat& beat,
                  int ranks) {
  Json json;
  json["rank"] = beat.rank;
  json["ranks"] = ranks;
  json["host"] = beat.host;
  json["written"] = beat.written;
  json["idle_seconds"] = beat.idle_seconds;
  json["activity"] = beat.activity;
  json["collectives"] = Json::array();
  for (const CollectiveRecord& record : recorder.records())
    json["collectives"].push_back(to_json(record));
  replace_file(flight_path(folder, beat.rank), json.dump(1) + "\n");
}

std::string describe_stall(const std::vector<Heartbeat>& beats, int ranks, double silence_seconds) {
  std::vector<Heartbeat> waiting;
  std::vector<std::string> parts;
  std::set<int> unknown;
  for (int rank = 0; rank < ranks; ++rank) unknown.insert(rank);
  for (const Heartbeat& beat : beats) {
    unknown.erase(beat.rank);
    const double silent = silent_now(beat);
    const std::string activity = beat.activity.empty() ? "its start" : beat.activity;
    if (silent > silence_seconds)
      parts.push_back(fmt::format(
          "the process of rank {} ({}, pid {}) has been silent for {:.0f} s, last in {}", beat.rank,
          beat.host, beat.pid, silent, activity));
    else if (beat.waits)
      waiting.push_back(beat);
    else
      parts.push_back(fmt::format("rank {} was last in {}", beat.rank, activity));
  }
  if (!unknown.empty())
    parts.push_back(
        fmt::format("of {} nothing is known", ranks_text({unknown.begin(), unknown.end()})));
  if (!waiting.empty()) parts.insert(parts.begin(), waiting_text(waiting));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace skep
