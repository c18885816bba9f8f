// A film as one still picture: ranks are columns, rounds go down the page. Each rank's bar shows
// its buffer, the fuller the colour the more ranks' contributions are in; an arrow starts at the
// elements it carries and ends where they belong. The same film gives the same bytes.
#include <fmt/format.h>

#include <algorithm>

#include "tools/inspect/film.h"

namespace skep {
namespace {

constexpr double left = 132, top = 96, bar_height = 16, right = 28;

constexpr const char* style = R"(<style>
  svg { background: #ffffff; font-family: Inter, "Helvetica Neue", Arial, sans-serif; }
  .title { font-size: 20px; font-weight: 600; fill: #1f2933; }
  .note { font-size: 12px; fill: #52606d; }
  .rank { font-size: 13px; font-weight: 600; fill: #323f4b; text-anchor: middle; }
  .round { font-size: 13px; font-weight: 600; fill: #323f4b; }
  .label { font-size: 10px; fill: #323f4b; text-anchor: middle; stroke: #ffffff; stroke-width: 3px;
           paint-order: stroke; }
  .line { stroke: #e4e7eb; stroke-width: 1; }
  .bar { fill: #f5f7fa; stroke: #9aa5b1; stroke-width: 0.8; }
  .arrow path { fill: none; stroke-width: 1.8; }
  @media (prefers-color-scheme: dark) {
    svg { background: #14181d; }
    .title { fill: #f5f7fa; } .note { fill: #9aa5b1; } .rank, .round { fill: #cbd2d9; }
    .label { fill: #cbd2d9; stroke: #14181d; } .line { stroke: #2b333b; }
    .bar { fill: #1f262d; stroke: #616e7c; }
  }
</style>
)";

struct Layout {
  const Film& film;
  double column, bar;  // widths
  double gap;          // from bar to bar; many arrows need more room

  explicit Layout(const Film& film)
      : film(film), column(std::clamp(960.0 / film.ranks, 56.0, 168.0)), bar(0.78 * column) {
    std::size_t most = 0;
    for (const FilmRound& round : film.rounds) most = std::max(most, round.arrows.size());
    gap = most > 2 * static_cast<std::size_t>(film.ranks) ? 128 : 78;
  }
  double width() const { return left + column * film.ranks + right; }
  double height() const { return bar_top(film.rounds.size()) + bar_height + 40; }
  double center(int rank) const { return left + column * (rank + 0.5); }
  double bar_top(std::size_t round) const { return top + gap * static_cast<double>(round); }
  double x(int rank, double element) const {
    const double whole = static_cast<double>(std::max<std::size_t>(film.count, 1));
    return center(rank) - bar / 2 + bar * element / whole;
  }
  double middle(int rank, Range range) const {
    return x(rank, (static_cast<double>(range.begin) + static_cast<double>(range.end)) / 2);
  }
};

std::string draw_bar(const Layout& at, std::size_t round, int rank) {
  const auto& held = at.film.held[round][static_cast<std::size_t>(rank)];
  const double y = at.bar_top(round);
  std::string text = fmt::format(
      "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"3\"/>\n",
      at.x(rank, 0), y, at.bar, bar_height);
  for (std::size_t c = 0; c < held.size(); ++c) {
    if (held[c] == 0) continue;
    const Range cell = at.film.cells[c];
    const double begin = at.x(rank, static_cast<double>(cell.begin));
    const double full = std::min(1.0, static_cast<double>(held[c]) / at.film.complete);
    text += fmt::format(
        "<rect class=\"cell\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "fill=\"{}\" fill-opacity=\"{:.2f}\"/>\n",
        begin + 0.5, y + 1, at.x(rank, static_cast<double>(cell.end)) - begin - 1, bar_height - 2,
        color_of(cell, at.film.count), full == 1 ? 1 : 0.15 + 0.6 * full);
  }
  return text;
}

std::string draw_arrow(const Layout& at, std::size_t round, const Arrow& arrow) {
  const double x1 = at.middle(arrow.from, arrow.range), x2 = at.middle(arrow.to, arrow.range);
  const double y1 = at.bar_top(round) + bar_height + 1, y2 = at.bar_top(round + 1) - 1;
  const double bend = 0.42 * (y2 - y1);
  const bool adds = at.film.rounds[round].on_arrival == OnArrival::combine;
  const std::string color = color_of(arrow.range, at.film.count);
  return fmt::format(
      "<g class=\"arrow\"><title>round {}: rank {} sends elements {}-{} to rank {}, {}</title>"
      "<path d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" stroke=\"{}\"/>"
      "<path d=\"M{:.1f} {:.1f}l-3.5 -7h7z\" style=\"fill:{}\" stroke=\"none\"/></g>\n",
      round, arrow.from, arrow.range.begin, arrow.range.end, arrow.to,
      adds ? "where they are added" : "where they are stored", x1, y1, x1, y1 + bend, x2,
      y2 - 7 - bend, x2, y2 - 6, color, x2, y2, color);
}

// At the arrow's end: there the arrows are apart.
std::string draw_label(const Layout& at, std::size_t round, const Arrow& arrow) {
  return fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\">{}-{}</text>\n",
                     at.middle(arrow.to, arrow.range), at.bar_top(round + 1) - 12,
                     arrow.range.begin, arrow.range.end);
}

std::string draw_round(const Layout& at, std::size_t index) {
  const FilmRound& round = at.film.rounds[index];
  const double y = at.bar_top(index) + bar_height + (at.gap - bar_height) / 2;
  std::string text = fmt::format(
      "<text class=\"round\" x=\"24\" y=\"{:.1f}\">{} {}</text>\n"
      "<text class=\"note\" x=\"24\" y=\"{:.1f}\">{:.1f} us</text>\n",
      y, index, round.on_arrival == OnArrival::combine ? "add" : "store", y + 16,
      round.seconds * 1e6);
  for (const Arrow& arrow : round.arrows) text += draw_arrow(at, index, arrow);
  // Labels only where they can be read.
  if (round.arrows.size() <= static_cast<std::size_t>(at.film.ranks) && at.column > 90)
    for (const Arrow& arrow : round.arrows) text += draw_label(at, index, arrow);
  return text;
}

}  // namespace

std::string draw_svg(const Film& film) {
  const Layout at(film);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "viewBox=\"0 0 {:.0f} {:.0f}\">\n{}",
      at.width(), at.height(), at.width(), at.height(), style);
  text += fmt::format(
      "<text class=\"title\" x=\"24\" y=\"36\">{} {}</text>\n"
      "<text class=\"note\" x=\"24\" y=\"56\">{} ranks, {} bytes, {} rounds, {} transfers, {:.1f} "
      "us "
      "predicted</text>\n",
      film.topology, film.operation, film.ranks, 4 * film.count, film.rounds.size(),
      film.transfers(), film.seconds() * 1e6);
  for (int rank = 0; rank < film.ranks; ++rank) {
    text += fmt::format("<text class=\"rank\" x=\"{:.1f}\" y=\"{:.1f}\">rank {}</text>\n",
                        at.center(rank), top - 10, rank);
    text += fmt::format(
        "<line class=\"line\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>\n",
        at.center(rank), top + bar_height, at.bar_top(film.rounds.size()));
  }
  for (std::size_t i = 0; i < film.rounds.size(); ++i) text += draw_round(at, i);
  for (std::size_t i = 0; i <= film.rounds.size(); ++i)
    for (int rank = 0; rank < film.ranks; ++rank) text += draw_bar(at, i, rank);
  return text + "</svg>\n";
}

}  // namespace skep
