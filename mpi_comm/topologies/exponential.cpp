#include "mpi_comm/topologies/exponential.h"

#include <algorithm>
#include <bit>

namespace skep {
namespace {

const TopologyEntry entry{"exponential", without_settings<Exponential>};

}  // namespace

std::vector<std::vector<int>> Exponential::groups(const Place& at) const {
  const int bits =
      std::max(1, static_cast<int>(std::bit_width(static_cast<unsigned>(at.size - 1))));
  const int distance = 1 << (at.step % bits);
  std::vector<std::vector<int>> groups;
  for (int rank = 0; rank < at.size; ++rank) {
    const int partner = rank ^ distance;
    if (partner >= at.size)
      groups.push_back({rank});
    else if (rank < partner)
      groups.push_back({rank, partner});
  }
  return groups;
}

}  // namespace skep
