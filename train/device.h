#pragma once
// Where a rank computes: device.kind, and what is there.
#include <string>

#include "engine/core/device.h"

namespace skep {

struct ChosenDevice {
  Device device;
  std::string reason;  ///< why it is not a GPU, where it might have been
};

/// One rank among those of its host.
struct LocalPlace {
  int rank = 0, ranks = 1;
};

enum class Sharing { no, yes };

/// kind: auto, cpu, cuda. Each rank of a host gets a GPU of its own, unless they share.
/// Error(usage) when cuda is asked for and cannot be had; auto then stays on the CPU.
ChosenDevice choose_device(const std::string& kind, const LocalPlace& place,
                           Sharing sharing = Sharing::no);

}  // namespace skep
