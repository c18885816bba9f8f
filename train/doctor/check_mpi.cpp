// MPI itself: the library, what mpirun needs to start, and how messages travel within a host and
// between hosts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "train/doctor/checks.h"

namespace skep::doctor {
namespace {

bool is_open_mpi(const Facts& facts) { return facts.mpi_library.starts_with("Open MPI"); }

/// Networks that every host is on.
std::set<std::string> shared_networks(const std::vector<Facts>& ranks) {
  std::set<std::string> shared;
  for (const auto& [name, network] : ranks.front().networks) {
    const auto has = [&, &network = network](const Facts& facts) {
      return std::any_of(facts.networks.begin(), facts.networks.end(),
                         [&](const auto& entry) { return entry.second == network; });
    };
    if (std::all_of(ranks.begin(), ranks.end(), has)) shared.insert(network);
  }
  return shared;
}

std::string list(const std::map<std::string, std::string>& networks) {
  std::vector<std::string> texts;
  for (const auto& [name, network] : networks) texts.push_back(name + " " + network);
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

Lines check_mpi(const std::vector<Facts>& ranks) {
  const std::string& library = ranks.front().mpi_library;
  for (const Facts& facts : ranks)
    if (facts.mpi_library != library)
      return {{Verdict::fix, "mpi",
               fmt::format("{} uses {}, {} uses {}: they do not understand each other",
                           ranks.front().place.host, library, facts.place.host, facts.mpi_library),
               fmt::format("ssh {} sudo apt-get install --reinstall libopenmpi3 openmpi-bin",
                           facts.place.host)}};
  return {
      {Verdict::ok, "mpi", fmt::format("{}, {}", library, describe_hosts(hosts_of(ranks))), ""}};
}

Lines check_launcher(const std::vector<Facts>& ranks) {
  const Facts& own = ranks.front();
  const auto missing = [&](const std::string& name) {
    return std::find(own.missing_programs.begin(), own.missing_programs.end(), name) !=
           own.missing_programs.end();
  };
  // Whoever runs with several ranks, or under Slurm, has a launcher that works.
  const bool launched = ranks.size() > 1 || !own.variable("SLURM_JOB_ID").empty();
  Lines lines;
  if (!launched && missing("mpirun"))
    lines.push_back({Verdict::warn, "launcher", "there is no mpirun: only one rank can run",
                     "sudo apt-get install openmpi-bin openssh-client"});
  else if (!launched && missing("ssh"))
    lines.push_back({Verdict::warn, "launcher",
                     "mpirun does not start without ssh, not even on one host",
                     "sudo apt-get install openssh-client"});
  if (!launched && own.user_id == 0 &&
      (own.variable("OMPI_ALLOW_RUN_AS_ROOT").empty() ||
       own.variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM").empty()))
    lines.push_back({Verdict::warn, "launcher", "mpirun refuses to start ranks for root",
                     "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  if (lines.empty())
    lines.push_back({Verdict::ok, "launcher",
                     launched ? "these ranks were launched well" : "mpirun has what it needs", ""});
  return lines;
}

Lines check_single_copy(const std::vector<Facts>& ranks) {
  const std::string topic = "single copy", name = "OMPI_MCA_btl_vader_single_copy_mechanism";
  if (!is_open_mpi(ranks.front()) || ranks.size() == hosts_of(ranks).size())
    return {{Verdict::ok, topic, "not used: no two ranks of Open MPI on one host", ""}};
  for (const Facts& facts : ranks) {
    if (facts.variable(name) == "none" || facts.single_copy_problem.empty()) continue;
    return {{Verdict::fix, topic,
             fmt::format("ranks on {} may not read each other's memory ({}): large messages would "
                         "fail with \"Read -1, expected N\"",
                         facts.place.host, facts.single_copy_problem),
             "export " + name + "=none"}};
  }
  if (ranks.front().variable(name) == "none")
    return {{Verdict::ok, topic, "switched off; messages go through shared memory", ""}};
  return {{Verdict::ok, topic, "ranks read each other's memory", ""}};
}

Lines check_network(const std::vector<Facts>& ranks) {
  const std::string name = "OMPI_MCA_btl_tcp_if_include";
  if (hosts_of(ranks).size() == 1) return {{Verdict::ok, "network", "not used: one host", ""}};
  if (const std::string chosen = ranks.front().variable(name); !chosen.empty())
    return {{Verdict::ok, "network", "messages go over " + chosen, ""}};
  const std::set<std::string> shared = shared_networks(ranks);
  for (const Facts& facts : ranks) {
    if (facts.networks.size() < 2) continue;
    if (shared.empty())
      return {{Verdict::fix, "network",
               fmt::format("the hosts share no network ({} has {}): messages may find no way",
                           facts.place.host, list(facts.networks)),
               fmt::format("export {}=NETWORK/BITS", name)}};
    return {{Verdict::warn, "network",
             fmt::format("{} has several networks ({}), and MPI may try one that leads nowhere",
                         facts.place.host, list(facts.networks)),
             fmt::format("export {}={}", name, *shared.begin())}};
  }
  return {{Verdict::ok, "network", "one network on every host", ""}};
}

}  // namespace skep::doctor
