// A film as an HTML page that plays it: the ranks stand in a circle, each a ring that shows its
// buffer; in every round the pieces travel to where they belong. One file, nothing loaded from
// elsewhere. The page's own text is page.html.h; here it gets its film.
#include <nlohmann/json.hpp>

#include "tools/inspect/film.h"
#include "tools/inspect/page.html.h"

namespace skep {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const FilmRound& round, std::size_t count) {
  Json arrows = Json::array();
  for (const Arrow& arrow : round.arrows)
    arrows.push_back({{"from", arrow.from},
                      {"to", arrow.to},
                      {"begin", arrow.range.begin},
                      {"end", arrow.range.end},
                      {"color", color_of(arrow.range, count)}});
  return {{"adds", round.on_arrival == OnArrival::combine},
          {"us", round.seconds * 1e6},
          {"arrows", std::move(arrows)}};
}

Json json_of(const Film& film) {
  Json json;
  json["title"] = film.topology + " " + film.operation;
  json["ranks"] = film.ranks;
  json["count"] = film.count;
  json["complete"] = film.complete;
  json["groups"] = film.groups;
  for (const Range& cell : film.cells)
    json["cells"].push_back(
        {{"begin", cell.begin}, {"end", cell.end}, {"color", color_of(cell, film.count)}});
  json["rounds"] = Json::array();
  for (const FilmRound& round : film.rounds) json["rounds"].push_back(json_of(round, film.count));
  json["held"] = film.held;
  return json;
}

std::string replaced(std::string text, std::string_view mark, std::string_view by) {
  for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + by.size()))
    text.replace(at, mark.size(), by);
  return text;
}

}  // namespace

std::string write_page(const Film& film) {
  const std::string titled =
      replaced(std::string(page_html), "@TITLE@", film.topology + " " + film.operation);
  return replaced(titled, "@FILM@", json_of(film).dump());
}

}  // namespace skep
