#pragma once
// Grid: the ranks stand in the most nearly square grid that N allows; rows average at even steps,
// columns at odd ones. all_reduce: the full mesh inside a line of s ranks, 2 rounds, 2m(s-1)/s
// bytes sent per rank. Two steps together are an exact mean over all: every row mean is of equally
// many ranks. A prime N has no grid: random clusters of the root of N, rounded up, take its place.
// A relative: Moshpit averaging (Ryabinin et al., NeurIPS 2021), with more dimensions.
#include "mpi_comm/topologies/full_mesh.h"

namespace skep {

class Grid : public FullMesh {
 public:
  std::string_view name() const override { return "grid"; }
  std::string note(int size) const override;
  std::vector<std::vector<int>> groups(const Place& at) const override;
};

}  // namespace skep
