// Counters: cumulative, per topology, summed and printed.
#include "mpi_comm/traffic.h"

#include <catch2/catch.hpp>

using namespace skep;
using Catch::Matchers::Contains;

TEST_CASE("traffic: the total is the sum over topologies", "[traffic]") {
  Traffic traffic;
  traffic.of("ring") = {1, 2, 3, 40, 50, 0.5};
  traffic.of("tree") = {10, 20, 30, 400, 500, 0.25};
  CHECK(traffic.total() == TrafficCounts{11, 22, 33, 440, 550, 0.75});
  CHECK(traffic.by_topology().size() == 2);
}

TEST_CASE("traffic: a counter stays where it is when others are added", "[traffic]") {
  Traffic traffic;
  TrafficCounts& ring = traffic.of("ring");
  for (const char* name : {"a", "b", "z"}) traffic.of(name);
  ++ring.collectives;
  CHECK(traffic.of("ring").collectives == 1);
}

TEST_CASE("traffic: one line a topology", "[traffic]") {
  Traffic traffic;
  traffic.of("ring") = {1, 2, 3, 40, 50, 0.5};
  CHECK(to_string(traffic) ==
        "ring               1 collectives, 2 messages and 40 bytes sent, 0.500 s waited\n");
}
