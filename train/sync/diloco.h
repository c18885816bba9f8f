#pragma once
// DiLoCo: each rank trains alone for `period` steps; then the way it went, start - now, is averaged
// over the ranks as if it were a gradient, and an outer SGD with Nesterov momentum takes a step
// along it from where all started (Douillard et al., arXiv 2311.08105). It helps where ranks can
// meet only rarely: the momentum makes long periods (the paper has 500) learn as well as short
// ones; short ones it overshoots. Sends 1/period of the bytes of a sum every step and 16 bytes a
// step; holds two more copies of the parameters, the start and the momentum.
#include "train/sync/gradient_sync.h"

namespace skep {

struct DilocoSettings {
  std::int64_t period = 4;
  double outer_lr = 0.7;
  double outer_momentum = 0.9;
};

std::unique_ptr<GradientSync> make_diloco(const DilocoSettings& settings);

}  // namespace skep
