#pragma once
// A collective as a sequence of pictures: what every rank holds before each round, and who sends
// what to whom in it. Read off the plans of all ranks; text, SVG and page draw from it.
#include <cstddef>
#include <string>
#include <vector>

#include "mpi_comm/collective.h"
#include "mpi_comm/cost_model.h"

namespace skep {

/// One transfer, seen from outside.
struct Arrow {
  int from = 0, to = 0;
  Range range;  ///< elements
};

struct FilmRound {
  OnArrival on_arrival = OnArrival::copy;
  std::vector<Arrow> arrows;
  double seconds = 0;  ///< predicted
};

struct Film {
  static constexpr int most_drawn_ranks = 64;
  static constexpr std::size_t most_drawn_rounds = 512;

  std::string topology, operation;
  int ranks = 0;
  long step = 0;
  std::size_t count = 0;  ///< elements of fp32
  std::vector<std::vector<int>> groups;
  std::vector<FilmRound> rounds;
  /// The buffer cut wherever some transfer begins or ends.
  std::vector<Range> cells;
  /// held[r][rank][cell]: from how many ranks there are contributions in it before round r; the
  /// last entry is the end. Where nothing is summed: 1 for what has arrived. Empty for what is too
  /// large to be drawn.
  std::vector<std::vector<std::vector<int>>> held;
  int complete = 1;  ///< contributions of a finished cell in the largest group

  std::size_t transfers() const;
  double seconds() const;
};

/// The collective among at.size ranks at at.step, on `count` elements of fp32.
Film film_of(const Topology& topology, Collective collective, const Place& at, std::size_t count,
             const LinkCosts& costs);

/// "#rrggbb", going round the colour circle from the first to the last element; a transfer of more
/// than half the buffer has no colour.
std::string color_of(Range range, std::size_t count);

std::string describe(const Film& film);    ///< text: a line a round and sender
std::string draw_svg(const Film& film);    ///< one picture, rounds from top to bottom
std::string write_page(const Film& film);  ///< HTML that plays it, in one file

}  // namespace skep
