// inspect flight: lays the flight records of a run's ranks side by side and shows the first
// collective in which they differ.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "tools/common/print.h"
#include "tools/inspect/commands.h"

namespace skep {
namespace {

struct Collective {
  std::string call, activity;
  std::uint64_t rounds_done = 0, rounds = 0;
  bool ended = false;
};

struct Flight {
  int rank = 0, ranks = 0;
  std::string activity;
  double idle_seconds = 0;
  std::map<std::uint64_t, Collective> collectives;  // by sequence number

  std::uint64_t first() const { return collectives.empty() ? 0 : collectives.begin()->first; }
  std::uint64_t end() const { return collectives.empty() ? 0 : collectives.rbegin()->first + 1; }
};

Flight read_flight(const std::string& path) {
  try {
    const auto json = nlohmann::json::parse(read_file(path));
    Flight flight;
    json.at("rank").get_to(flight.rank);
    json.at("ranks").get_to(flight.ranks);
    json.at("activity").get_to(flight.activity);
    json.at("idle_seconds").get_to(flight.idle_seconds);
    for (const auto& one : json.at("collectives")) {
      Collective& collective = flight.collectives[one.at("sequence").get<std::uint64_t>()];
      one.at("call").get_to(collective.call);
      one.at("activity").get_to(collective.activity);
      one.at("rounds_done").get_to(collective.rounds_done);
      one.at("rounds").get_to(collective.rounds);
      collective.ended = !one.at("ended").is_null();
    }
    return flight;
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::data, "{} is no flight record: {}", path, error.what());
  }
}

std::vector<Flight> read_flights(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<Flight> flights;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("flight.rank-") && name.ends_with(".json"))
      flights.push_back(read_flight(entry.path().string()));
  }
  if (flights.empty())
    fail(ErrorKind::data,
         "no flight.rank-*.json in {}: ranks leave them there when a run stalls or fails", folder);
  std::sort(flights.begin(), flights.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
  return flights;
}

// How far a rank came in a collective; ranks that came equally far have equal words.
std::string describe(const Flight& flight, std::uint64_t sequence) {
  const auto found = flight.collectives.find(sequence);
  const std::string now =
      flight.activity.empty() ? "" : fmt::format("; last in {}", flight.activity);
  if (found == flight.collectives.end()) return "has not started it" + now;
  const Collective& c = found->second;
  if (c.ended) return c.call + ", done" + now;
  return fmt::format("{}, {} of {} rounds done{}", c.call, c.rounds_done, c.rounds, now);
}

// What must be the same on all ranks.
std::string outline(const Flight& flight, std::uint64_t sequence) {
  const auto found = flight.collectives.find(sequence);
  if (found == flight.collectives.end()) return "";
  return found->second.call + (found->second.ended ? " done" : "");
}

bool alike(const std::vector<Flight>& flights, std::uint64_t sequence) {
  return std::all_of(flights.begin(), flights.end(), [&](const Flight& flight) {
    return outline(flight, sequence) == outline(flights.front(), sequence);
  });
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "", fmt::join(ranks, ","));
}

std::string describe_difference(const std::vector<Flight>& flights, std::uint64_t sequence) {
  std::vector<std::pair<std::string, std::vector<int>>> sides;
  for (const Flight& flight : flights) {
    const std::string words = describe(flight, sequence);
    auto side = std::find_if(sides.begin(), sides.end(), [&](auto& s) { return s.first == words; });
    if (side == sides.end()) side = sides.insert(sides.end(), {words, {}});
    side->second.push_back(flight.rank);
  }
  std::string text;
  for (const auto& [words, ranks] : sides)
    text += fmt::format("  {:<14} {}\n", ranks_text(ranks), words);
  return text;
}

std::string missing_text(const std::vector<Flight>& flights) {
  std::set<int> missing;
  for (int rank = 0; rank < flights.front().ranks; ++rank) missing.insert(rank);
  for (const Flight& flight : flights) missing.erase(flight.rank);
  return missing.empty()
             ? ""
             : fmt::format("no record of {}\n", ranks_text({missing.begin(), missing.end()}));
}

}  // namespace

std::string merge_flights(const std::string& folder) {
  const std::vector<Flight> flights = read_flights(folder);
  // Where all remember: each rank keeps its last 256.
  std::uint64_t first = 0, end = 0;
  for (const Flight& flight : flights) {
    first = std::max(first, flight.first());
    end = std::max(end, flight.end());
  }
  std::string text = missing_text(flights);
  std::uint64_t sequence = first;
  while (sequence < end && alike(flights, sequence)) ++sequence;
  if (sequence > first)
    text += fmt::format("#{} to #{}: alike on all {}\n", first, sequence - 1, flights.size());
  if (end == 0) return text + "no rank has started a collective\n";
  if (sequence == end)
    return text + fmt::format("none differs; #{} is the last\n", end - 1) +
           describe_difference(flights, end - 1);
  return text + fmt::format("#{}: the first that differs\n", sequence) +
         describe_difference(flights, sequence);
}

void inspect_flight(const Arguments& arguments) {
  const auto flags = make_flags(
      "inspect flight",
      "Lays the flight.rank-*.json of a run's folder side by side and prints the first collective "
      "in which the ranks differ, and what each did.");
  std::string folder;
  flags->add_option("RUN", folder, "folder of the run")->required();
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);
  print(merge_flights(folder));
}

}  // namespace skep
