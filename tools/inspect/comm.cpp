// inspect comm: the plans of a collective before anybody runs them, in words and pictures.
#include "engine/core/error.h"
#include "engine/core/files.h"
#include "mpi_comm/comm_error.h"
#include "mpi_comm/topologies/automatic.h"
#include "tools/common/print.h"
#include "tools/inspect/commands.h"
#include "tools/inspect/film.h"

namespace skep {
namespace {

struct CommQuestion {
  std::string topology = "ring", collective = "all_reduce", svg, page;
  std::int64_t ranks = 8, step = 0, seed = 1337, bytes = 1 << 20, cluster_size = 4, hosts = 1;
  // 10 Gbit/s Ethernet, and memory of 30 GB/s for adding.
  double alpha_us = 20, beta_ns = 0.8, gamma_ns = 0.1;
};

void add_flags(CLI::App& flags, CommQuestion& q) {
  flags.add_option("--topology", q.topology, "ring, tree, …; auto: the cheapest by these costs")
      ->type_name("NAME");
  add_number(flags, "-n,--ranks", "N", q.ranks, "how many ranks");
  add_number(flags, "--step", "S", q.step, "of training, from 0: some topologies change with it");
  add_number(flags, "--seed", "S", q.seed, "of the run: likewise");
  add_number(flags, "--bytes", "M", q.bytes,
             "size of the buffer; ranges are printed in fp32 elements");
  flags
      .add_option("--collective", q.collective, "all_reduce, reduce_scatter, all_gather, broadcast")
      ->type_name("NAME");
  add_number(flags, "--cluster-size", "C", q.cluster_size, "ranks in a cluster at most");
  add_number(flags, "--hosts", "H", q.hosts, "ranks are spread over so many hosts, in order");
  add_number(flags, "--alpha", "US", q.alpha_us, "microseconds a round");
  add_number(flags, "--beta", "NS", q.beta_ns, "nanoseconds a byte moved; bench comm --fit tells");
  add_number(flags, "--gamma", "NS", q.gamma_ns, "nanoseconds a byte added");
  flags.add_option("--svg", q.svg, "draw it into this file")->type_name("FILE");
  flags.add_option("--html", q.page, "write a page that plays it")->type_name("FILE");
}

void check_question(const CommQuestion& q) {
  const auto between = [](const char* name, std::int64_t value, std::int64_t low,
                          std::int64_t high) {
    if (value < low || value > high)
      fail(ErrorKind::usage, "{} must be from {} to {}, got {}", name, low, high, value);
  };
  const bool drawn = !q.svg.empty() || !q.page.empty();
  between("--ranks", q.ranks, 1, drawn ? Film::most_drawn_ranks : 1024);
  between("--step", q.step, 0, std::int64_t{1} << 40);
  between("--bytes", q.bytes, 0, std::int64_t{1} << 34);
  between("--cluster-size", q.cluster_size, 1, 1024);
  between("--hosts", q.hosts, 1, q.ranks);
  if (q.bytes % 4 != 0)
    fail(ErrorKind::usage, "--bytes {} is no whole number of fp32 elements: 4 bytes each", q.bytes);
  for (const double cost : {q.alpha_us, q.beta_ns, q.gamma_ns})
    if (!(cost >= 0)) fail(ErrorKind::usage, "--alpha, --beta and --gamma must be at least 0");
}

Film film_of(const CommQuestion& q) {
  try {
    TopologySettings settings;
    settings.cluster_size = static_cast<int>(q.cluster_size);
    for (std::int64_t rank = 0; rank < q.ranks; ++rank)
      settings.hosts.push_back(static_cast<int>(rank * q.hosts / q.ranks));
    const LinkCosts costs{q.alpha_us * 1e-6, q.beta_ns * 1e-9, q.gamma_ns * 1e-9};
    const std::unique_ptr<Topology> topology = q.topology == "auto"
                                                   ? std::make_unique<Automatic>(costs, settings)
                                                   : make_topology(q.topology, settings);
    const Place at{0, static_cast<int>(q.ranks), static_cast<std::uint64_t>(q.seed),
                   static_cast<long>(q.step)};
    return film_of(*topology, find_collective(q.collective), at,
                   static_cast<std::size_t>(q.bytes / 4), costs);
  } catch (const CommError& error) {
    fail(error.kind() == CommFailure::usage ? ErrorKind::usage : ErrorKind::bug, "{}",
         error.what());
  }
}

}  // namespace

void inspect_comm(const Arguments& arguments) {
  const auto flags = make_flags("inspect comm",
                                "Prints who sends what to whom in a collective, and what it should "
                                "cost; draws it, or writes a page that plays it.");
  CommQuestion question;
  add_flags(*flags, question);
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);
  check_question(question);
  const Film film = film_of(question);
  print(describe(film));
  if (question.svg.empty() && question.page.empty()) return;
  if (film.rounds.size() > Film::most_drawn_rounds)
    fail(ErrorKind::usage, "{} rounds are too many to draw, {} is the most: use fewer --bytes",
         film.rounds.size(), Film::most_drawn_rounds);
  if (!question.svg.empty()) write_file(question.svg, draw_svg(film));
  if (!question.page.empty()) write_file(question.page, write_page(film));
}

}  // namespace skep
