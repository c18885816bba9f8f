// Bytes on the wire, counted by Open MPI's monitoring layer: what each rank sends to each peer is
// what the printed plan says, and in total what the cost table says.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <string>

#include "mpi_comm/fingerprint.h"
#include "mpi_comm/topology.h"

using namespace skep;

namespace {

constexpr int ranks = 4, repeats = 10;
constexpr std::size_t count = 1 << 20;

using Row = std::array<std::uint64_t, ranks>;
using Matrix = std::array<Row, ranks>;  // [from][to], in bytes

// From the profiles of a run.
Matrix measure(const std::string& topology, const std::string& hosts) {
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("skep-traffic-{}-{}", getpid(), topology);
  std::filesystem::create_directories(folder);
  const std::string command = fmt::format(
      "{} --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 "
      "--mca pml_monitoring_filename {}/profile -np {} {} {} {}",
      MPIEXEC, folder.string(), ranks, PROGRAM, topology, hosts);
  REQUIRE(std::system(command.c_str()) == 0);
  Matrix bytes{};
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);) {
      std::size_t from = 0, to = 0;
      unsigned long long sent = 0;
      // E: messages of the program, as opposed to I, the library's own
      if (std::sscanf(line.c_str(), "E %zu %zu %llu bytes", &from, &to, &sent) == 3)
        bytes.at(from).at(to) += sent;
    }
  }
  std::filesystem::remove_all(folder);
  return bytes;
}

// The same from the plans.
Matrix plan(const Topology& topology) {
  Matrix bytes{};
  for (int rank = 0; rank < ranks; ++rank)
    for (long step = 0; step < repeats; ++step) {
      const Place at{.rank = rank, .size = ranks, .seed = 3, .step = step};
      for (const Round& round : topology.all_reduce(at, count).rounds)
        for (const auto& [peer, range] : round.sends)
          bytes[static_cast<std::size_t>(rank)][static_cast<std::size_t>(peer)] +=
              range.size() * sizeof(float);
    }
  return bytes;
}

// What goes along with each collective to the next position of the group; Open MPI counts it too.
Matrix fingerprints(const Topology& topology) {
  Matrix bytes{};
  for (int rank = 0; rank < ranks; ++rank)
    for (long step = 0; step < repeats; ++step) {
      const Group group = topology.group({.rank = rank, .size = ranks, .seed = 3, .step = step});
      if (group.size() > 1)
        bytes[static_cast<std::size_t>(rank)]
             [static_cast<std::size_t>(group.rank_at(group.position + 1))] += sizeof(Fingerprint);
    }
  return bytes;
}

Matrix without(const Matrix& part, Matrix all) {
  for (std::size_t from = 0; from < ranks; ++from)
    for (std::size_t to = 0; to < ranks; ++to) all[from][to] -= part[from][to];
  return all;
}

constexpr std::uint64_t m = 10485760;  // ten times a quarter of 4 MiB

// What makes each topology what it is: who sends how many quarters of the buffer to whom.
const std::map<std::string, Matrix> known{
    {"ring", {{{0, 6 * m, 0, 0}, {0, 0, 6 * m, 0}, {0, 0, 0, 6 * m}, {6 * m, 0, 0, 0}}}},
    {"full_mesh",
     {{{0, 2 * m, 2 * m, 2 * m},
       {2 * m, 0, 2 * m, 2 * m},
       {2 * m, 2 * m, 0, 2 * m},
       {2 * m, 2 * m, 2 * m, 0}}}},
    {"tree", {{{0, 4 * m, 4 * m, 0}, {4 * m, 0, 0, 0}, {4 * m, 0, 0, 4 * m}, {0, 0, 4 * m, 0}}}},
    // Halves with the one two away, then quarters with the neighbour, and back.
    {"halving_doubling",
     {{{0, 2 * m, 4 * m, 0}, {2 * m, 0, 0, 4 * m}, {4 * m, 0, 0, 2 * m}, {0, 4 * m, 2 * m, 0}}}},
    // Hosts 0 0 1 1: halves on the host, quarters between the hosts.
    {"hierarchical",
     {{{0, 4 * m, 2 * m, 0}, {4 * m, 0, 0, 2 * m}, {2 * m, 0, 0, 4 * m}, {0, 2 * m, 4 * m, 0}}}},
    // Five steps with each of two partners.
    {"grid",
     {{{0, 2 * m, 2 * m, 0}, {2 * m, 0, 0, 2 * m}, {2 * m, 0, 0, 2 * m}, {0, 2 * m, 2 * m, 0}}}},
    {"exponential",
     {{{0, 2 * m, 2 * m, 0}, {2 * m, 0, 0, 2 * m}, {2 * m, 0, 0, 2 * m}, {0, 2 * m, 2 * m, 0}}}},
};

}  // namespace

TEST_CASE("traffic: Open MPI counts the bytes of the plan, peer by peer", "[traffic]") {
  for (const std::string& name : topology_names()) {
    CAPTURE(name);
    const auto topology = make_topology(name, {.cluster_size = 2, .hosts = {0, 0, 1, 1}});
    const Matrix measured = without(fingerprints(*topology), measure(name, "0011"));
    CHECK(measured == plan(*topology));
    if (known.contains(name)) {
      CHECK(measured == known.at(name));
      continue;
    }
    // Clusters of 2: half to the partner and half back at each of ten steps, and partners change.
    REQUIRE(name == "random_clusters");
    for (const Row& row : measured) {
      CHECK(std::accumulate(row.begin(), row.end(), std::uint64_t{0}) == 4 * m);
      CHECK(std::count(row.begin(), row.end(), 0) < 3);
    }
  }
}
