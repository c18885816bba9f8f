// Bytes on the wire, counted by Open MPI's monitoring layer: what each rank sends to each peer is
// what the printed plan says, and in total what the cost table says.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "mpi_comm/fingerprint.h"
#include "mpi_comm/topology.h"

using namespace skep;

namespace {

constexpr int ranks = 4, repeats = 10;
constexpr std::size_t count = 1 << 20;

using BytesByPeer = std::map<int, std::uint64_t>;

// Bytes to each peer per sending rank, from the profiles of a run.
std::array<BytesByPeer, ranks> measure(const std::string& topology) {
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("skep-traffic-{}-{}", getpid(), topology);
  std::filesystem::create_directories(folder);
  const std::string command = fmt::format(
      "{} --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 "
      "--mca pml_monitoring_filename {}/profile -np {} {} {}",
      MPIEXEC, folder.string(), ranks, PROGRAM, topology);
  REQUIRE(std::system(command.c_str()) == 0);
  std::array<BytesByPeer, ranks> bytes;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);) {
      int from = 0, to = 0;
      unsigned long long sent = 0;
      // E: messages of the program, as opposed to I, the library's own
      if (std::sscanf(line.c_str(), "E %d %d %llu bytes", &from, &to, &sent) == 3)
        bytes.at(static_cast<std::size_t>(from))[to] += sent;
    }
  }
  std::filesystem::remove_all(folder);
  return bytes;
}

}  // namespace

TEST_CASE("traffic: Open MPI counts the bytes of the plan, peer by peer", "[traffic]") {
  for (const std::string& name : topology_names()) {
    const auto measured = measure(name);
    for (int rank = 0; rank < ranks; ++rank) {
      CAPTURE(name, rank);
      BytesByPeer planned;
      for (const Round& round :
           make_topology(name)->all_reduce({.rank = rank, .size = ranks}, count).rounds)
        for (const auto& [peer, range] : round.sends)
          planned[peer] += range.size() * sizeof(float) * repeats;
      // Open MPI counts the fingerprints too, one to the next rank with each collective.
      planned[(rank + 1) % ranks] += repeats * sizeof(Fingerprint);
      const BytesByPeer& sent = measured[static_cast<std::size_t>(rank)];
      CHECK(sent == planned);
      std::uint64_t total = 0;
      for (const auto& [peer, bytes] : sent) total += bytes;
      if (name == "ring" || name == "full_mesh")
        CHECK(total - repeats * sizeof(Fingerprint) == 62914560);  // 10 * 2 * 3/4 * 4 MiB
    }
  }
}
