#pragma once
// One-peer exponential graph: at step t rank r averages with the one partner whose number differs
// in bit t mod log2 N; a rank whose partner does not exist stays alone. all_reduce: the pair swaps
// halves and then sums, 2 rounds, m bytes sent per rank, whatever N is. After log2 N steps a power
// of two of ranks holds the exact mean over all; other N come ever closer to it.
// (Ying et al., NeurIPS 2021.)
#include "mpi_comm/topologies/full_mesh.h"

namespace skep {

class Exponential : public FullMesh {
 public:
  std::string_view name() const override { return "exponential"; }
  std::vector<std::vector<int>> groups(const Place& at) const override;
};

}  // namespace skep
