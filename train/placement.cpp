#include "train/placement.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/core/error.h"
#include "train/config.h"
#include "train/gather.h"

namespace skep {
namespace {

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  return processors;
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// A host's name holds no blank.
std::string to_text(const Placement& placement) {
  std::string text = fmt::format("{} {}", placement.host, placement.wished_threads);
  for (const int processor : placement.processors) text += fmt::format(" {}", processor);
  return text;
}

Placement from_text(const std::string& text) {
  std::istringstream in(text);
  Placement placement;
  in >> placement.host >> placement.wished_threads;
  for (int processor = 0; in >> processor;) placement.processors.push_back(processor);
  return placement;
}

bool may_run_on(const Placement& placement, int processor) {
  return std::find(placement.processors.begin(), placement.processors.end(), processor) !=
         placement.processors.end();
}

}  // namespace

Placement find_placement(std::int64_t run_threads) {
  Placement placement{host_name(), allowed_processors(), static_cast<int>(run_threads)};
  if (const char* wish = std::getenv("OMP_NUM_THREADS"); wish != nullptr && run_threads == 0)
    placement.wished_threads = std::max(0, std::atoi(wish));
  if (placement.wished_threads > most_threads)
    fail(ErrorKind::usage, "OMP_NUM_THREADS is {}; a rank takes at most {}",
         placement.wished_threads, most_threads);
  return placement;
}

std::vector<Placement> gather_placements(Communicator& comm, const Placement& mine) {
  std::vector<Placement> all;
  for (const std::string& text : gather_texts(comm, to_text(mine))) all.push_back(from_text(text));
  return all;
}

int fair_share(const std::vector<Placement>& ranks, int rank) {
  const Placement& own = ranks.at(static_cast<std::size_t>(rank));
  double share = 0;
  for (const int processor : own.processors) {
    const auto users = std::count_if(ranks.begin(), ranks.end(), [&](const Placement& other) {
      return other.host == own.host && may_run_on(other, processor);
    });
    share += 1.0 / static_cast<double>(users);
  }
  return std::max(1, static_cast<int>(share + 1e-6));  // three thirds are one
}

int threads_of(const std::vector<Placement>& ranks, int rank) {
  const int wished = ranks.at(static_cast<std::size_t>(rank)).wished_threads;
  return wished > 0 ? wished : fair_share(ranks, rank);
}

std::vector<HostGroup> group_by_host(const std::vector<Placement>& ranks) {
  std::vector<HostGroup> hosts;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    const Placement& placement = ranks[static_cast<std::size_t>(rank)];
    auto host = std::find_if(hosts.begin(), hosts.end(),
                             [&](const HostGroup& h) { return h.name == placement.host; });
    if (host == hosts.end()) host = hosts.insert(hosts.end(), {placement.host, {}, {}, 0});
    host->ranks.push_back(rank);
    std::set<int> all(host->processors.begin(), host->processors.end());
    all.insert(placement.processors.begin(), placement.processors.end());
    host->processors.assign(all.begin(), all.end());
    host->threads += threads_of(ranks, rank);
  }
  return hosts;
}

std::string describe_hosts(const std::vector<HostGroup>& hosts) {
  std::size_t ranks = 0;
  std::string list;
  for (const HostGroup& host : hosts) {
    ranks += host.ranks.size();
    list += fmt::format("{}{} on {}", list.empty() ? "" : ", ", host.ranks.size(), host.name);
  }
  const std::string total = counted(static_cast<std::int64_t>(ranks), "rank");
  if (hosts.size() == 1) return fmt::format("{} on {}", total, hosts[0].name);
  return fmt::format("{} on {} hosts: {}", total, hosts.size(), list);
}

std::string find_crowding(const std::vector<HostGroup>& hosts) {
  for (const HostGroup& host : hosts) {
    const int ranks = static_cast<int>(host.ranks.size());
    const int processors = static_cast<int>(host.processors.size());
    if (host.threads <= std::max(processors, ranks)) continue;
    return fmt::format(
        "{} threads of {} share {} on {}, which is much slower than one thread a CPU: use "
        "--run.threads {}",
        host.threads, counted(ranks, "rank"), counted(processors, "CPU"), host.name,
        std::max(1, processors / ranks));
  }
  return {};
}

std::string counted(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace skep
