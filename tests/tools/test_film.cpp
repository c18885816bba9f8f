// inspect comm: pictures show exactly the transfers of the plans, and are sound files.
#include <nlohmann/json.hpp>

#include "engine/core/files.h"
#include "mpi_comm/simulator.h"
#include "tests/tools/process.h"
#include "tools/inspect/film.h"

using namespace skep;

namespace {

constexpr LinkCosts costs{1e-5, 1e-9, 1e-10};
constexpr std::size_t count = 1000;

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// What is wrong with the nesting of tags and the quoting of attributes; empty when sound.
std::string xml_fault(const std::string& text) {
  std::vector<std::string> open;
  for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at)) {
    const std::size_t end = text.find('>', at);
    if (end == text.npos) return "a tag without end";
    const std::string tag = text.substr(at + 1, end - at - 1);
    const std::string name =
        tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" /", 1) - (tag[0] == '/' ? 1 : 0));
    if (tag.find('<') != tag.npos || occurrences(tag, "\"") % 2 != 0) return "in <" + tag + ">";
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "</" + tag.substr(1) + ">";
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty() ? "" : "<" + open.back() + "> stays open";
}

std::size_t planned_transfers(const Topology& topology, Collective collective, const Place& at) {
  std::size_t sends = 0;
  for (const Plan& plan : plans_of_all(topology, collective, at, count))
    for (const Round& round : plan.rounds) sends += round.sends.size();
  return sends;
}

}  // namespace

TEST_CASE("film: as many arrows as the plans have transfers, in every form") {
  for (const std::string& name : topology_names())
    for (const Collective collective : all_collectives())
      for (const int ranks : {1, 2, 5, 8}) {
        CAPTURE(name, name_of(collective), ranks);
        const auto topology = make_topology(name);
        const Place at{.size = ranks, .seed = 3, .step = 1};
        const Film film = film_of(*topology, collective, at, count, costs);
        const std::size_t transfers = planned_transfers(*topology, collective, at);
        CHECK(film.transfers() == transfers);
        CHECK(occurrences(describe(film), " to ") == transfers);
        const std::string svg = draw_svg(film);
        CHECK(occurrences(svg, "class=\"arrow\"") == transfers);
        CHECK(occurrences(svg, "class=\"bar\"") ==
              (film.rounds.size() + 1) * static_cast<std::size_t>(ranks));
        CHECK(xml_fault(svg) == "");
        CHECK(film.seconds() ==
              Approx(price(plans_of_all(*topology, collective, at, count), 4, costs)));
      }
}

// Ones, summed by the simulator, count the contributions.
TEST_CASE("film: what is held in the end is what the plans compute") {
  for (const std::string& name : topology_names()) {
    CAPTURE(name);
    const int ranks = 6;
    const Place at{.size = ranks, .seed = 5, .step = 2};
    const auto topology = make_topology(name);
    const Film film = film_of(*topology, Collective::all_reduce, at, count, costs);
    std::vector<std::vector<std::int64_t>> ones(ranks, std::vector<std::int64_t>(count, 1));
    REQUIRE(simulate(plans_of_all(*topology, Collective::all_reduce, at, count), ones).empty());
    REQUIRE(film.held.size() == film.rounds.size() + 1);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      for (std::size_t cell = 0; cell < film.cells.size(); ++cell)
        CHECK(film.held.back()[rank][cell] == ones[rank][film.cells[cell].begin]);
  }
}

TEST_CASE("film: the page holds the whole film and needs nothing else") {
  const Film film =
      film_of(*make_topology("ring"), Collective::all_reduce, {.size = 4}, 400, costs);
  const std::string page = write_page(film);
  const std::string mark = "type=\"application/json\">";
  const std::size_t begin = page.find(mark) + mark.size();
  const auto json =
      nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  CHECK(json["ranks"] == 4);
  REQUIRE(json["rounds"].size() == 6);
  // In the first round of a ring, rank 0 passes on the last quarter.
  CHECK(json["rounds"][0]["arrows"].size() == 4);
  CHECK(json["rounds"][0]["arrows"][0]["from"] == 0);
  CHECK(json["rounds"][0]["arrows"][0]["to"] == 1);
  CHECK(json["rounds"][0]["arrows"][0]["begin"] == 300);
  CHECK(json["rounds"][0]["arrows"][0]["end"] == 400);
  CHECK(json["rounds"][0]["adds"] == true);
  CHECK(json["rounds"][3]["adds"] == false);
  CHECK(json["held"][6] == std::vector<std::vector<int>>(4, std::vector<int>(4, 4)));
  CHECK(page.find("@TITLE@") == page.npos);
  CHECK(page.find("@FILM@") == page.npos);
  for (const char* id : {"play", "position", "back", "next", "theme", "speed", "list"})
    CHECK(occurrences(page, fmt::format("id=\"{}\"", id)) == 1);
  for (const char* outside : {"src=", "href=", "@import", "url("})
    CHECK(occurrences(page, outside) == 0);
  CHECK(occurrences(page, "http") == 1);  // the name space of SVG
}

TEST_CASE("film: colours go round the circle, whole buffers have none") {
  CHECK(color_of({0, 100}, 100) == "#7b8794");
  CHECK(color_of({0, 25}, 100) != color_of({25, 50}, 100));
  CHECK(color_of({0, 25}, 100) == color_of({0, 250}, 1000));
}

TEST_CASE("inspect comm: auto names what is cheapest; nothing at all is sent of no bytes") {
  const std::string at = "inspect comm --topology auto -n 4 --gamma 0 ";
  // Two rounds beat six when latency is all that counts.
  CHECK_THAT(run_shell(at + "--alpha 100 --beta 0 --bytes 4096").out,
             Catch::StartsWith("auto (full_mesh) all_reduce: 4 ranks, 4096 bytes, 2 rounds"));
  CHECK(run_shell("inspect comm --topology ring -n 2 --bytes 0").out ==
        "ring all_reduce: 2 ranks, 0 bytes, 2 rounds, 0 transfers, 0.0 us predicted\n"
        "  0  copy     0.0 us\n  1  copy     0.0 us\n");
}

TEST_CASE("inspect comm: text, files, and mistakes in one line") {
  const TemporaryFolder folder;
  const std::string svg = folder / "a.svg", page = folder / "a.html";
  const Finished finished =
      run_shell(fmt::format("inspect comm --topology tree -n 4 --bytes 4096 --alpha 10 --beta 1 "
                            "--gamma 0 --svg {} --html {}",
                            svg, page));
  CHECK(finished.err == "");
  REQUIRE(finished.exit_code == 0);
  // 2 log2 4 rounds of 10 us and 4096 bytes at 1 ns.
  CHECK_THAT(finished.out, Catch::StartsWith("tree all_reduce: 4 ranks, 4096 bytes, 4 rounds, 6 "
                                             "transfers, 56.4 us predicted\n"));
  CHECK_THAT(finished.out, Catch::Contains("1 sends 0-1024 to 0"));
  CHECK(xml_fault(read_file(svg)) == "");
  CHECK_THAT(read_file(page), Catch::StartsWith("<!DOCTYPE html>"));
  const std::string first = read_file(svg);
  run_shell(fmt::format(
      "inspect comm --topology tree -n 4 --bytes 4096 --alpha 10 --beta 1 --gamma 0 --svg {}",
      svg));
  CHECK(read_file(svg) == first);

  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"--topology rung", "full_mesh"},
      {"--collective sum", "all_reduce"},
      {"-n 0", "--ranks must be from 1"},
      {"--bytes 7", "fp32"},
      {"-n 65 --svg x", "from 1 to 64"},
      {"--topology tree --bytes 2147483648 --svg x", "too many to draw"},
      {"--topologie ring", "--topology"}};
  for (const auto& [arguments, message] : mistakes) {
    INFO(arguments);
    const Finished refused = run_shell("inspect comm " + arguments);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, Catch::StartsWith("inspect: ") && Catch::Contains(message));
  }
}
