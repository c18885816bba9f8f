#include "train/build_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mpi_comm/topologies/automatic.h"
#include "train/sync/accumulate.h"
#include "train/sync/diloco.h"
#include "train/sync/every_step.h"
#include "train/sync/local_sgd.h"

namespace skep {
namespace {

std::unique_ptr<Codec> make_rest_codec(const std::string& name, std::int64_t block) {
  return name.ends_with("int4") ? make_int4_codec(block) : make_int8_codec(block);
}

BucketedSettings bucket_settings(const CommSection& comm) {
  BucketedSettings settings;
  const double elements = comm.bucket_mb * (1 << 18);  // of fp32
  settings.sizes.elements = std::max<std::int64_t>(1, std::llround(std::min(elements, 1e15)));
  settings.sizes.first_elements = std::min(settings.sizes.first_elements, settings.sizes.elements);
  settings.overlap = comm.overlap ? Overlap::yes : Overlap::no;
  return settings;
}

TopologySettings topology_settings(const CommSection& comm, const std::vector<int>& hosts) {
  return {static_cast<int>(comm.cluster_size), hosts};
}

std::unique_ptr<Topology> choose_topology(const CommSection& section, const Communicator& comm,
                                          const std::vector<int>& hosts) {
  const TopologySettings settings = topology_settings(section, hosts);
  if (section.topology == "auto")
    return std::make_unique<Automatic>(comm.calibration().costs, settings);
  return make_topology(section.topology, settings);
}

Phase make_phase(const Config& config, const Communicator& comm, const std::vector<int>& hosts,
                 const std::shared_ptr<Reduction>& reduction) {
  const int ranks = comm.size();
  Phase phase;
  phase.topology = choose_topology(config.comm, comm, hosts);
  const bool everybody = phase.topology->reach(ranks) == Reach::global;
  if (config.sync.rule == "local_sgd")
    phase.sync = make_local_sgd(config.sync.period);
  else if (config.sync.rule == "diloco")
    phase.sync =
        make_diloco({config.sync.period, config.sync.outer_lr, config.sync.outer_momentum});
  else if (config.sync.rule == "accumulate")
    phase.sync = make_accumulate(config.sync.period, reduction, bucket_settings(config.comm));
  else if (everybody)
    phase.sync = make_every_step(reduction, bucket_settings(config.comm));
  else
    phase.sync = make_local_sgd(1);
  phase.name = fmt::format("{}, {}", phase.topology->name(), phase.sync->name());
  std::string note = phase.topology->note(ranks);
  if (!everybody && config.sync.rule == "every_step")
    note += std::string(note.empty() ? "" : "; ") +
            "only some ranks meet at a step: they average parameters, not gradients";
  if (!note.empty()) phase.name += fmt::format(" ({})", note);
  return phase;
}

/// The first step that is not in the phase.
std::int64_t end_of(const PhaseEntry& entry, double steps_per_epoch) {
  if (entry.until_step > 0) return entry.until_step;
  if (entry.until_epoch > 0)
    return std::max<std::int64_t>(1, std::llround(std::ceil(entry.until_epoch * steps_per_epoch)));
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace

void prepare_wires(const Config& config, Communicator& comm, const std::vector<int>& hosts) {
  const CommSection& section = config.comm;
  bool automatic = section.topology == "auto" || section.transport == "auto";
  for (const PhaseEntry& entry : config.phases)
    automatic |= during_phase(config, entry).comm.topology == "auto";
  const Carrier carrier = section.transport == "mpi"    ? Carrier::mpi
                          : section.transport == "auto" ? Carrier::automatic
                                                        : Carrier::plans;
  comm.set_carrier(carrier,
                   automatic ? calibrate(comm, topology_settings(section, hosts)) : Calibration{});
}

std::shared_ptr<Reduction> make_reduction(const Config& config, std::int64_t elements,
                                          const MessagePath& path) {
  if (path.way == MessagePath::Way::by_mpi) return make_device_reduction();
  if (path.way == MessagePath::Way::by_nccl) return make_group_reduction(path.group);
  const CompressSection& c = config.compress;
  const Feedback feedback = c.error_feedback ? Feedback::yes : Feedback::no;
  if (config.comm.reduction == "exact") return make_exact_reduction(config.comm.exact_scale);
  if (c.codec == "topk") return make_sparse_sum(c.density, feedback, elements);
  if (c.codec == "bf16") return make_owner_sum(make_bf16_codec(), feedback, elements);
  if (c.codec == "int8" || c.codec == "int4")
    return make_owner_sum(make_rest_codec(c.codec, c.block), feedback, elements);
  if (c.codec != "none")
    return make_owner_sum(make_topk_codec(c.density, make_rest_codec(c.codec, c.block)), feedback,
                          elements);
  if (config.comm.wire == "bf16") return make_owner_sum(make_bf16_codec());
  if (config.comm.reduction == "rank_order") return make_owner_sum(make_fp32_codec());
  return make_fast_reduction();
}

std::unique_ptr<PhaseSchedule> make_phases(const Config& config, const Communicator& comm,
                                           const std::vector<int>& hosts,
                                           const std::shared_ptr<Reduction>& reduction,
                                           double steps_per_epoch) {
  std::vector<Phase> phases;
  for (const PhaseEntry& entry : config.phases) {
    phases.push_back(make_phase(during_phase(config, entry), comm, hosts, reduction));
    phases.back().until_step = end_of(entry, steps_per_epoch);
  }
  // What no [[phase]] covers is as the other keys say.
  if (phases.empty() || phases.back().until_step < std::numeric_limits<std::int64_t>::max())
    phases.push_back(make_phase(config, comm, hosts, reduction));
  return std::make_unique<PhaseSchedule>(std::move(phases));
}

}  // namespace skep
