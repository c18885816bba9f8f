#pragma once
// The part of build.h that says how ranks meet: from names to wires, rules, reductions and codecs.
#include <memory>
#include <vector>

#include "train/config.h"
#include "train/message_path.h"
#include "train/schedule/phase_schedule.h"
#include "train/sync/reduction.h"

namespace skep {

/// Who carries collectives, as comm.transport says; measures the wires first where `auto` is asked
/// for. Collective, before build_parts; CommError(usage) for `mpi` without MPI.
void prepare_wires(const Config& config, Communicator& comm, const std::vector<int>& hosts = {});

/// How gradients are summed. `elements`: of the flat gradients.
std::shared_ptr<Reduction> make_reduction(const Config& config, std::int64_t elements,
                                          const MessagePath& path);

/// The phases of a run; all that sum gradients share the reduction. `hosts`: the host of each rank.
std::unique_ptr<PhaseSchedule> make_phases(const Config& config, const Communicator& comm,
                                           const std::vector<int>& hosts,
                                           const std::shared_ptr<Reduction>& reduction,
                                           double steps_per_epoch);

}  // namespace skep
