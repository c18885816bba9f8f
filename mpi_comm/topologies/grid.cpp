#include "mpi_comm/topologies/grid.h"

#include <fmt/format.h>

#include "mpi_comm/topologies/random_clusters.h"

namespace skep {
namespace {

const TopologyEntry entry{"grid", without_settings<Grid>};

// The largest divisor up to the root: the rows of the most nearly square grid.
int rows_of(int size) {
  int rows = 1;
  for (int divisor = 1; divisor * divisor <= size; ++divisor)
    if (size % divisor == 0) rows = divisor;
  return rows;
}

bool has_grid(int size) { return size == 1 || rows_of(size) > 1; }

int root_rounded_up(int size) {
  int root = 1;
  while (root * root < size) ++root;
  return root;
}

}  // namespace

std::string Grid::note(int size) const {
  if (has_grid(size)) return fmt::format("{} x {} ranks", rows_of(size), size / rows_of(size));
  return fmt::format("{} ranks make no grid (a prime): random clusters of {} take its place", size,
                     root_rounded_up(size));
}

std::vector<std::vector<int>> Grid::groups(const Place& at) const {
  if (!has_grid(at.size)) return draw_clusters(at, root_rounded_up(at.size));
  const int rows = rows_of(at.size), columns = at.size / rows;
  const bool by_row = at.step % 2 == 0;
  std::vector<std::vector<int>> lines(static_cast<std::size_t>(by_row ? rows : columns));
  for (int rank = 0; rank < at.size; ++rank)
    lines[static_cast<std::size_t>(by_row ? rank / columns : rank % columns)].push_back(rank);
  return lines;
}

}  // namespace skep
