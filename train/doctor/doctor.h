#pragma once
// train --doctor: looks at MPI, CPUs, memory, disk and devices where the ranks are, and says what
// to change before a run suffers from it.
#include "train/config.h"
#include "train/doctor/facts.h"
#include "train/doctor/line.h"

namespace skep {

namespace doctor {
/// What all checks say.
Lines examine(const std::vector<Facts>& ranks);
}  // namespace doctor

/// Collective. Rank 0 prints the findings; with a FIX among them all ranks leave with exit code 2.
void run_doctor(const Config& config, Communicator& comm);

}  // namespace skep
