#include "tools/inspect/film.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>

namespace skep {
namespace {

// A round's action is that of the ranks that receive in it.
std::vector<FilmRound> rounds_of(const std::vector<Plan>& plans, const LinkCosts& costs) {
  const std::vector<double> seconds = price_rounds(plans, sizeof(float), costs);
  std::vector<FilmRound> rounds(seconds.size());
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    rounds[i].seconds = seconds[i];
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      if (i >= plans[rank].rounds.size()) continue;
      const Round& round = plans[rank].rounds[i];
      if (!round.receives.empty()) rounds[i].on_arrival = round.on_arrival;
      for (const auto& [peer, range] : round.sends)
        rounds[i].arrows.push_back({static_cast<int>(rank), peer, range});
    }
  }
  return rounds;
}

std::vector<Range> cells_of(const std::vector<FilmRound>& rounds, int ranks, std::size_t count) {
  std::set<std::size_t> cuts{0, count};
  for (const Range& range : parts_of(count, ranks)) cuts.insert(range.begin);
  for (const FilmRound& round : rounds)
    for (const Arrow& arrow : round.arrows) cuts.insert({arrow.range.begin, arrow.range.end});
  std::vector<Range> cells;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut)
    cells.push_back({*cut, *std::next(cut)});
  return cells;
}

// What each rank brings along: everything to a reduction, its part to a gather; only the first of
// the group has something to broadcast.
int brought(Collective collective, const Group& group, Range cell, std::size_t count) {
  if (collective == Collective::broadcast) return group.position == 0 ? 1 : 0;
  if (collective != Collective::all_gather) return 1;
  const Range own = part(count, group.position, group.size());
  return cell.begin >= own.begin && cell.end <= own.end ? 1 : 0;
}

// All arrows of a round start from what was held before it.
std::vector<std::vector<int>> after(const std::vector<std::vector<int>>& before,
                                    const FilmRound& round, const std::vector<Range>& cells) {
  std::vector<std::vector<int>> now = before;
  for (const Arrow& arrow : round.arrows)
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (cells[c].begin < arrow.range.begin || cells[c].end > arrow.range.end) continue;
      const int arrived = before[static_cast<std::size_t>(arrow.from)][c];
      int& target = now[static_cast<std::size_t>(arrow.to)][c];
      target = round.on_arrival == OnArrival::combine ? target + arrived : arrived;
    }
  return now;
}

void fill_held(Film& film, const Topology& topology, Collective collective, const Place& at) {
  auto& start = film.held.emplace_back();
  for (Place place = at; place.rank < at.size; ++place.rank) {
    const Group group = topology.group(place);
    auto& row = start.emplace_back();
    for (const Range& cell : film.cells)
      row.push_back(brought(collective, group, cell, film.count));
  }
  for (const FilmRound& round : film.rounds)
    film.held.push_back(after(film.held.back(), round, film.cells));
}

std::string transfer_lines(const FilmRound& round, std::size_t limit) {
  if (round.arrows.empty()) return "";
  std::string text;
  int from = -1;
  for (std::size_t i = 0; i < std::min(limit, round.arrows.size()); ++i) {
    const Arrow& arrow = round.arrows[i];
    text +=
        arrow.from == from ? ", " : fmt::format("{}     {:>3} sends ", i ? "\n" : "", arrow.from);
    text += fmt::format("{}-{} to {}", arrow.range.begin, arrow.range.end, arrow.to);
    from = arrow.from;
  }
  if (round.arrows.size() > limit)
    text += fmt::format("\n     and {} more", round.arrows.size() - limit);
  return text + "\n";
}

}  // namespace

std::size_t Film::transfers() const {
  std::size_t sum = 0;
  for (const FilmRound& round : rounds) sum += round.arrows.size();
  return sum;
}

double Film::seconds() const {
  double sum = 0;
  for (const FilmRound& round : rounds) sum += round.seconds;
  return sum;
}

Film film_of(const Topology& topology, Collective collective, const Place& at, std::size_t count,
             const LinkCosts& costs) {
  const std::vector<Plan> plans = plans_of_all(topology, collective, at, count);
  Film film;
  film.topology = topology.name();
  if (const std::string chosen{plans.front().topology}; chosen != film.topology)
    film.topology += fmt::format(" ({})", chosen);
  film.operation = name_of(collective);
  film.ranks = at.size;
  film.step = at.step;
  film.count = count;
  film.groups = topology.groups(at);
  film.rounds = rounds_of(plans, costs);
  film.cells = cells_of(film.rounds, at.size, count);
  if (collective == Collective::all_reduce || collective == Collective::reduce_scatter)
    for (const auto& group : film.groups)
      film.complete = std::max(film.complete, static_cast<int>(group.size()));
  if (film.ranks <= Film::most_drawn_ranks && film.rounds.size() <= Film::most_drawn_rounds)
    fill_held(film, topology, collective, at);
  return film;
}

// OKLCH of one lightness and strength: hues that look equally bright on white and on black.
std::string color_of(Range range, std::size_t count) {
  const double whole = static_cast<double>(std::max<std::size_t>(count, 1));
  if (static_cast<double>(range.size()) > 0.5 * whole && range.size() > 1) return "#7b8794";
  const double middle = (static_cast<double>(range.begin) + static_cast<double>(range.end)) / 2;
  const double hue = 2 * std::numbers::pi * (middle / whole + 0.08), lightness = 0.68,
               strength = 0.15;
  const double a = strength * std::cos(hue), b = strength * std::sin(hue);
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  const std::array<double, 3> linear{4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
                                     -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
                                     -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
  std::string text = "#";
  for (const double x : linear) {
    const double y = std::clamp(x, 0.0, 1.0);
    const double gamma = y <= 0.0031308 ? 12.92 * y : 1.055 * std::pow(y, 1 / 2.4) - 0.055;
    text += fmt::format("{:02x}", static_cast<int>(std::lround(255 * gamma)));
  }
  return text;
}

std::string describe(const Film& film) {
  constexpr std::size_t most_lines = 256;
  std::string text =
      fmt::format("{} {}: {} ranks, {} bytes, {} rounds, {} transfers, {:.1f} us predicted\n",
                  film.topology, film.operation, film.ranks, 4 * film.count, film.rounds.size(),
                  film.transfers(), film.seconds() * 1e6);
  if (film.groups.size() > 1)
    text += fmt::format("groups at step {}: {}\n", film.step, film.groups);
  for (std::size_t i = 0; i < film.rounds.size(); ++i) {
    const FilmRound& round = film.rounds[i];
    text += fmt::format("{:>3}  {:<7}  {:.1f} us\n{}", i,
                        round.on_arrival == OnArrival::combine ? "combine" : "copy",
                        round.seconds * 1e6, transfer_lines(round, most_lines));
  }
  return text;
}

}  // namespace skep
