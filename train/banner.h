#pragma once
// The lines that open a run: who trains what, where, in how much memory and with which batch.
#include <string>
#include <vector>

#include "train/config.h"
#include "train/placement.h"
#include "train/trainer.h"

namespace skep {

std::string describe_run(const Config& config, const Parts& parts,
                         const std::vector<Placement>& ranks);

}  // namespace skep
