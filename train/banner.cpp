#include "train/banner.h"

#include <fmt/format.h>

#include <fmt/ranges.h>

#include <algorithm>

#include "engine/backends/cpu/gemm.h"
#include "engine/backends/devices.h"
#include "train/build.h"
#include "train/checkpoint/byte_counter.h"
#include "train/explain.h"

namespace skep {
namespace {

std::string row(const std::string& name, std::string text) {
  const std::string margin(10, ' ');  // further lines stand below the first
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at)
    text.insert(at + 1, margin);
  return fmt::format("{:<10}{}", name, text);
}

std::string describe_threads(const std::vector<Placement>& ranks) {
  int least = threads_of(ranks, 0), most = least;
  for (int rank = 1; rank < static_cast<int>(ranks.size()); ++rank) {
    least = std::min(least, threads_of(ranks, rank));
    most = std::max(most, threads_of(ranks, rank));
  }
  if (least < most) return fmt::format("{} to {} threads each", least, most);
  return counted(least, "thread") + (ranks.size() > 1 ? " each" : "");
}

std::string megabytes(double bytes) { return fmt::format("{:.1f} MB", bytes / 1e6); }

std::string describe_memory(const Config& config, const Parts& parts) {
  const ParameterStore& store = *parts.parameters;
  const double narrow_bytes =
      compute_dtype(config.precision) == DType::f32 ? 0 : 2 * static_cast<double>(store.size());
  const double bytes = static_cast<double>(store.bytes()), weights = bytes + narrow_bytes,
               gradients = bytes;
  ByteCounter optimizer;
  parts.optimizer->archive(optimizer);
  const double activations = predict_step_costs(parts).activation_bytes;
  return fmt::format("{} a rank: weights {}, gradients {}, optimizer {}, activations about {}",
                     megabytes(weights + gradients + optimizer.bytes + activations),
                     megabytes(weights), megabytes(gradients), megabytes(optimizer.bytes),
                     megabytes(activations));
}

std::string describe_batch(const Config& config, const BatchSplit& split) {
  std::string text = split.describe();
  if (config.comm.reduction == "exact" && config.batch.micro_batch == 0)
    text += "\nset batch.micro_batch to get the same bytes at another number of ranks";
  return text;
}

/// "ring, every_step", or each phase with the step it ends at.
std::string describe_phases(const PhaseSchedule& phases, std::int64_t steps) {
  std::string text;
  for (const Phase& phase : phases.all()) {
    text += (text.empty() ? "" : "; ") + phase.name;
    if (phase.until_step >= steps) break;
    text += fmt::format(" until step {}", phase.until_step);
  }
  return text;
}

std::string describe_path(const MessagePath& path) {
  if (path.way == MessagePath::Way::by_mpi) return "; gradients leave from its memory";
  if (path.way == MessagePath::Way::by_nccl) return "; gradients go from GPU to GPU";
  return "; gradients pass through the host's memory: " + path.reason;
}

std::string describe_device(const ChosenDevice& chosen, const MessagePath& path,
                            const std::string& compute) {
  if (chosen.device.kind == Device::Kind::cuda)
    return fmt::format("cuda {}: {}, products in {}{}", chosen.device.index,
                       describe_gpu(chosen.device.index), compute, describe_path(path));
  const bool made_wide = compute == "fp16" || (compute == "bf16" && !cpu::has_bf16_products());
  return fmt::format("cpu, products by {} in {}{}{}", cpu::has_onednn() ? "oneDNN" : "Eigen",
                     compute, made_wide ? ", made in fp32 on this CPU" : "",
                     chosen.reason.empty() ? "" : "; GPU off, because " + chosen.reason);
}

}  // namespace

std::string describe_run(const Config& config, const Parts& parts,
                         const std::vector<Placement>& ranks) {
  const std::vector<std::string> rows{
      row("ranks",
          fmt::format("{}, {}", describe_hosts(group_by_host(ranks)), describe_threads(ranks))),
      row("wires", describe_phases(*parts.phases, config.run.steps)),
      row("device", describe_device(parts.device, parts.message_path, config.precision.compute)),
      row("data", parts.data_description),
      row("model", fmt::format("{}: {} parameters", to_string(parts.model->config()),
                               parts.parameters->parameter_count())),
      row("memory", describe_memory(config, parts)),
      row("batch", describe_batch(config, parts.loader->split())),
      row("run", run_directory(config))};
  return fmt::format("{}", fmt::join(rows, "\n"));
}

}  // namespace skep
