// CPUs: where the ranks may run, how many threads they start there, and how fast they get on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "train/doctor/checks.h"

namespace skep::doctor {
namespace {

const Facts& first_of(const HostGroup& host, const std::vector<Facts>& ranks) {
  return ranks.at(static_cast<std::size_t>(host.ranks.front()));
}

// A container may grant less time than it shows CPUs.
int within_quota(std::size_t processors, const Facts& facts) {
  const int count = static_cast<int>(processors);
  if (facts.processor_quota <= 0) return count;
  return std::min(count, std::max(1, static_cast<int>(facts.processor_quota)));
}

int usable_processors(const HostGroup& host, const std::vector<Facts>& ranks) {
  return within_quota(host.processors.size(), first_of(host, ranks));
}

// Ranks that are pinned to the same CPUs, too few for them, while the host has enough for all.
Lines find_pinned_together(const HostGroup& host, const std::vector<Facts>& ranks) {
  std::map<std::vector<int>, std::vector<int>> by_processors;
  for (const int rank : host.ranks)
    by_processors[ranks.at(static_cast<std::size_t>(rank)).place.processors].push_back(rank);
  const auto granted = static_cast<std::size_t>(first_of(host, ranks).granted_processors);
  for (const auto& [processors, members] : by_processors)
    if (members.size() > processors.size() && host.ranks.size() <= granted)
      return {{Verdict::fix, "slots",
               fmt::format("ranks {} on {} are pinned to the same {} ({}) of {}",
                           fmt::join(members, ", "), host.name,
                           counted(static_cast<std::int64_t>(processors.size()), "CPU"),
                           fmt::join(processors, ", "), granted),
               fmt::format("mpirun --bind-to core -np {} ...", ranks.size())}};
  return {};
}

Lines check_host_slots(const HostGroup& host, const std::vector<Facts>& ranks) {
  const Facts& facts = first_of(host, ranks);
  const int count = static_cast<int>(host.ranks.size()), usable = usable_processors(host, ranks);
  const std::string ranks_on = fmt::format("{} on {}", counted(count, "rank"), host.name);
  if (Lines pinned = find_pinned_together(host, ranks); !pinned.empty()) return pinned;
  if (count > usable && facts.mpi_library.starts_with("Open MPI") &&
      facts.variable("OMPI_MCA_mpi_yield_when_idle") != "1")
    return {{Verdict::fix, "slots",
             fmt::format("{} share {}, and those that wait do not give way", ranks_on,
                         counted(usable, "CPU")),
             "export OMPI_MCA_mpi_yield_when_idle=1"}};
  if (count > usable)
    return {{Verdict::warn, "slots",
             fmt::format("{} share {}: no faster than {}", ranks_on, counted(usable, "CPU"),
                         counted(usable, "rank")),
             fmt::format("mpirun -np {} ...", usable)}};
  return {{Verdict::ok, "slots", fmt::format("{}, {}", ranks_on, counted(usable, "CPU")), ""}};
}

Lines check_host_threads(const HostGroup& host, const std::vector<Facts>& ranks) {
  const int count = static_cast<int>(host.ranks.size()), usable = usable_processors(host, ranks);
  const std::string have = fmt::format("{} of {} on {} of {}", counted(host.threads, "thread"),
                                       counted(count, "rank"), counted(usable, "CPU"), host.name);
  if (host.threads > std::max(usable, count))
    return {{Verdict::fix, "threads", have + ": they slow each other down",
             fmt::format("export OMP_NUM_THREADS={}", std::max(1, usable / count))}};
  const Facts& facts = first_of(host, ranks);
  const int granted = within_quota(static_cast<std::size_t>(facts.granted_processors), facts);
  if (2 * host.threads <= granted && hosts_of(ranks).size() == 1)
    return {{Verdict::warn, "threads", fmt::format("{} where {} could run", have, granted),
             fmt::format("mpirun -np {} ...", granted)}};
  return {{Verdict::ok, "threads", have, ""}};
}

template <class Check>
Lines for_each_host(const std::vector<Facts>& ranks, Check check) {
  Lines all;
  for (const HostGroup& host : hosts_of(ranks))
    for (Line& line : check(host, ranks)) all.push_back(std::move(line));
  return all;
}

}  // namespace

Lines check_slots(const std::vector<Facts>& ranks) {
  return for_each_host(ranks, check_host_slots);
}

Lines check_threads(const std::vector<Facts>& ranks) {
  return for_each_host(ranks, check_host_threads);
}

Lines check_speed(const std::vector<Facts>& ranks) {
  const auto slower = [](const Facts& a, const Facts& b) { return a.peak_flops < b.peak_flops; };
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(), slower);
  const std::string range =
      fmt::format("matrix products at {:.0f} GFLOP/s on the fastest rank, {:.0f} on the slowest",
                  most->peak_flops / 1e9, least->peak_flops / 1e9);
  // Ranks wait for each other at every step: the slowest sets the pace.
  if (4 * least->peak_flops < most->peak_flops)
    return {{Verdict::warn, "speed",
             fmt::format("{}: rank {} on {} is the slowest and holds up all", range,
                         least - ranks.begin(), least->place.host),
             fmt::format("ssh {} top", least->place.host)}};
  return {{Verdict::ok, "speed", range, ""}};
}

}  // namespace skep::doctor
