// RAM, shared memory and disk, for the model that the configuration describes.
#include <fmt/format.h>

#include "train/doctor/checks.h"

namespace skep::doctor {
namespace {

constexpr double shared_bytes_a_rank = 16e6;  // segments and their bookkeeping, with some room

std::string gigabytes(double bytes) {
  return bytes < 1e8 ? fmt::format("{:.1f} MB", bytes / 1e6)
                     : fmt::format("{:.1f} GB", bytes / 1e9);
}

const Facts& first_of(const HostGroup& host, const std::vector<Facts>& ranks) {
  return ranks.at(static_cast<std::size_t>(host.ranks.front()));
}

Line check_folder(const Facts& facts, const std::string& problem, const std::string& folder,
                  const std::string& key) {
  return {Verdict::fix, "disk", fmt::format("{} on {}: {}", folder, facts.place.host, problem),
          fmt::format("train --{} $HOME/skep-run ...", key)};
}

}  // namespace

Lines check_memory(const std::vector<Facts>& ranks) {
  Lines lines;
  for (const HostGroup& host : hosts_of(ranks)) {
    const Facts& facts = first_of(host, ranks);
    const auto count = static_cast<std::int64_t>(host.ranks.size());
    const double needed = facts.needed_bytes * static_cast<double>(count);
    const std::string finding = fmt::format("{} available on {}, {} before activations for {}",
                                            gigabytes(facts.available_bytes), host.name,
                                            gigabytes(needed), counted(count, "rank"));
    if (needed > facts.available_bytes)
      lines.push_back({Verdict::fix, "memory", "not enough: " + finding,
                       "train --model.width 128 --model.layers 4 ..."});
    else if (2 * needed > facts.available_bytes)
      lines.push_back(
          {Verdict::warn, "memory", "tight: " + finding, "train --batch.micro_batch 1 ..."});
    else
      lines.push_back({Verdict::ok, "memory", finding, ""});
  }
  return lines;
}

Lines check_shared_memory(const std::vector<Facts>& ranks) {
  Lines lines;
  for (const HostGroup& host : hosts_of(ranks)) {
    const Facts& facts = first_of(host, ranks);
    const double needed = shared_bytes_a_rank * static_cast<double>(host.ranks.size());
    const std::string finding =
        fmt::format("{} free in /dev/shm of {}", gigabytes(facts.shared_memory_bytes), host.name);
    const bool elsewhere = !facts.variable("OMPI_MCA_btl_vader_backing_directory").empty();
    if (host.ranks.size() == 1 || elsewhere || facts.shared_memory_bytes >= needed)
      lines.push_back({Verdict::ok, "shared memory", finding, ""});
    else
      lines.push_back({Verdict::fix, "shared memory",
                       fmt::format("{}, ranks may need {} and die of SIGBUS (in Docker: "
                                   "--shm-size=1g)",
                                   finding, gigabytes(needed)),
                       "export OMPI_MCA_btl_vader_backing_directory=/tmp"});
  }
  return lines;
}

Lines check_disk(const std::vector<Facts>& ranks) {
  const Facts& writer = ranks.front();  // of checkpoints; a log every rank writes
  for (const Facts& facts : ranks)
    if (!facts.run_problem.empty())
      return {check_folder(facts, facts.run_problem, facts.run_folder, "run.dir")};
  if (!writer.checkpoint_problem.empty())
    return {check_folder(writer, writer.checkpoint_problem, writer.checkpoint_folder,
                         "checkpoint.dir")};
  const std::string finding =
      fmt::format("{} can be written, {} free, checkpoints take {}", writer.checkpoint_folder,
                  gigabytes(writer.disk_bytes), gigabytes(writer.checkpoints_bytes));
  if (writer.disk_bytes < writer.checkpoints_bytes)
    return {{Verdict::fix, "disk", "not enough: " + finding, "train --checkpoint.keep 1 ..."}};
  if (writer.disk_bytes < 2 * writer.checkpoints_bytes)
    return {{Verdict::warn, "disk", "tight: " + finding, "train --checkpoint.keep 1 ..."}};
  return {{Verdict::ok, "disk", finding, ""}};
}

}  // namespace skep::doctor
