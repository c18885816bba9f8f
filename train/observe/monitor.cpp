#include "train/observe/monitor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "engine/backends/backend.h"
#include "train/gather.h"
#include "train/observe/resources.h"

namespace skep {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

// One rank's numbers as they travel; times are seconds a step.
struct Monitor::Usage {
  double rss_bytes, peak_rss_bytes, cpu, compute, wait, loader_wait;
  double typical_compute;
  double available_bytes, total_bytes;
  double gpu_bytes, peak_gpu_bytes;
};

Monitor::Monitor(Communicator& comm, std::int64_t every,
                 std::function<doctor::Memory()> find_memory, Device device)
    : comm_(comm),
      every_(every),
      find_memory_(std::move(find_memory)),
      device_(device),
      cpu_seconds_before_(cpu_seconds()) {}

std::vector<std::string> Monitor::look(StepReport& report) {
  report.rss_bytes = resident_bytes();
  report.peak_rss_bytes = std::max(peak_resident_bytes(), report.rss_bytes);  // which lags a bit
  if (device_.kind == Device::Kind::cuda) {
    const MemoryUse use = backend(device_).memory();
    report.gpu_bytes = static_cast<std::int64_t>(use.reserved);
    report.peak_gpu_bytes = static_cast<std::int64_t>(use.peak);
  }
  const double cpu = cpu_seconds();
  report.cpu_seconds = cpu - std::exchange(cpu_seconds_before_, cpu);
  used_cpu_seconds_ += report.cpu_seconds;
  if (compute_seconds_.size() < most_steps) compute_seconds_.push_back(report.compute_seconds);
  computed_seconds_ += report.compute_seconds;
  waited_seconds_ += report.comm_wait_seconds;
  loaded_seconds_ += report.loader_wait_seconds;
  ++steps_;
  if (report.step % every_ != 0) return {};
  const auto steps = static_cast<double>(steps_);
  const std::vector<Usage> ranks = gather(usage_since_last_look(report));
  window_seconds_ +=
      steps * (ranks.front().compute + ranks.front().wait + ranks.front().loader_wait);
  const auto add_spread = [&](const char* name, double Usage::*number) {
    std::vector<double> values;
    for (const Usage& usage : ranks) values.push_back(usage.*number);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    report.over_ranks.push_back({name, *least, median(values), *most});
  };
  add_spread("rss_bytes", &Usage::rss_bytes);
  add_spread("peak_rss_bytes", &Usage::peak_rss_bytes);
  if (device_.kind == Device::Kind::cuda) {
    add_spread("gpu_bytes", &Usage::gpu_bytes);
    add_spread("peak_gpu_bytes", &Usage::peak_gpu_bytes);
  }
  add_spread("cpu_s", &Usage::cpu);
  add_spread("compute_s", &Usage::compute);
  add_spread("comm_wait_s", &Usage::wait);
  add_spread("loader_wait_s", &Usage::loader_wait);
  std::vector<std::string> warnings;
  warn_of_stragglers(ranks, warnings);
  warn_of_short_memory(ranks, warnings);
  return warnings;
}

Monitor::Usage Monitor::usage_since_last_look(const StepReport& report) {
  const auto steps = static_cast<double>(std::exchange(steps_, 0));
  const doctor::Memory memory = find_memory_();
  return {static_cast<double>(report.rss_bytes),
          static_cast<double>(report.peak_rss_bytes),
          std::exchange(used_cpu_seconds_, 0) / steps,
          std::exchange(computed_seconds_, 0) / steps,
          std::exchange(waited_seconds_, 0) / steps,
          std::exchange(loaded_seconds_, 0) / steps,
          median(compute_seconds_),
          memory.available_bytes,
          memory.total_bytes,
          static_cast<double>(report.gpu_bytes),
          static_cast<double>(report.peak_gpu_bytes)};
}

std::vector<Monitor::Usage> Monitor::gather(const Usage& mine) {
  if (hosts_.empty()) hosts_ = gather_texts(comm_, host_name());
  constexpr std::size_t numbers = sizeof(Usage) / sizeof(double);
  std::vector<Usage> all(static_cast<std::size_t>(comm_.size()));
  comm_.all_gather(std::span(&mine.rss_bytes, numbers),
                   std::span(&all.front().rss_bytes, numbers * all.size()));
  return all;
}

void Monitor::warn_of_stragglers(const std::vector<Usage>& ranks,
                                 std::vector<std::string>& warnings) {
  if (compute_seconds_.size() < least_steps || window_seconds_ < least_seconds) return;
  compute_seconds_.clear();
  window_seconds_ = 0;
  std::vector<double> compute;
  for (const Usage& usage : ranks) compute.push_back(usage.typical_compute);
  for (const Straggler& slow : stragglers_.look(compute))
    warnings.push_back(fmt::format(
        "rank {} ({}) keeps the others waiting: it computes {:.3g} s a step, the others {:.3g} s "
        "(median): {:.0f} % longer, with {:.3g} s of CPU time. Look for another program, heat or "
        "fewer CPUs there",
        slow.rank, hosts_[static_cast<std::size_t>(slow.rank)], slow.compute_seconds,
        slow.others_compute_seconds, 100 * (slow.compute_seconds / slow.others_compute_seconds - 1),
        ranks[static_cast<std::size_t>(slow.rank)].cpu));
}

void Monitor::warn_of_short_memory(const std::vector<Usage>& ranks,
                                   std::vector<std::string>& warnings) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].available_bytes >= short_share * ranks[i].total_bytes) continue;
    if (!short_hosts_.insert(hosts_[i]).second) continue;
    std::size_t largest = i;
    for (std::size_t j = i; j < ranks.size(); ++j)
      if (hosts_[j] == hosts_[i] && ranks[j].rss_bytes > ranks[largest].rss_bytes) largest = j;
    warnings.push_back(fmt::format(
        "{} is running out of memory: {:.2f} of {:.2f} GB are left; rank {} there holds {:.2f} GB, "
        "{:.2f} GB at most: use a smaller batch.micro_batch or fewer ranks there",
        hosts_[i], ranks[i].available_bytes / 1e9, ranks[i].total_bytes / 1e9, largest,
        ranks[largest].rss_bytes / 1e9, ranks[largest].peak_rss_bytes / 1e9));
  }
}

}  // namespace skep
