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

TEST_CASE("traffic: counted by phase too, whatever the topology", "[traffic]") {
  Traffic traffic;
  traffic.of("ring") += {1, 2, 3, 40, 50, 0.5};
  traffic.set_phase("checks");
  traffic.of("ring") += {1, 1, 1, 8, 8, 0};
  traffic.of("tree") += {1, 1, 1, 4, 4, 0};
  traffic.set_phase("");
  traffic.of("tree") += {1, 1, 1, 2, 2, 0};
  CHECK(traffic.by_phase().at("checks").bytes_sent == 12);
  CHECK(traffic.by_phase().at("").bytes_sent == 42);
  CHECK(traffic.by_topology().at("ring").bytes_sent == 48);
  CHECK(traffic.by_topology().at("tree").bytes_sent == 6);
  CHECK(traffic.total().bytes_sent == 54);
}

TEST_CASE("traffic: one line a topology and phase; messages of the library are unknown",
          "[traffic]") {
  Traffic traffic;
  traffic.set_phase("gradients");
  traffic.of("ring") = {1, 2, 3, 40, 50, 0.5};
  traffic.of(library_name) = {3, 0, 0, 40, 0, 0.25};
  CHECK(
      to_string(traffic) ==
      "mpi                gradients    3 collectives, unknown messages and 40 bytes sent, 0.250 s "
      "waited\n"
      "ring               gradients    1 collectives, 2 messages and 40 bytes sent, 0.500 s "
      "waited");
  traffic.set_phase("");
  traffic.of("tree") = {1, 2, 3, 40, 50, 0.5};
  CHECK_THAT(to_string(traffic), Catch::Contains("\ntree               start        1 "));
}
