// Plans as readers see them.
#include "mpi_comm/plan.h"

#include <catch2/catch.hpp>

#include "mpi_comm/topology.h"

using namespace skep;

TEST_CASE("plan: prints as a table, one line a round", "[plan]") {
  // Three ranks, seven elements: parts 0-3, 3-5, 5-7. Seen from rank 0.
  const Plan plan = make_topology("full_mesh")->all_reduce({.rank = 0, .size = 3}, 7);
  CHECK(to_string(plan) ==
        "full_mesh all_reduce: 3 ranks, 2 rounds, 10 elements sent\n"
        "  0  combine  send 3-5 to 1, 5-7 to 2   receive 0-3 from 2, 0-3 from 1\n"
        "  1  copy     send 0-3 to 1, 0-3 to 2   receive 5-7 from 2, 3-5 from 1\n");
}

TEST_CASE("plan: empty ranges are left out", "[plan]") {
  Round round;
  round.send(1, {4, 4});
  round.receive(1, {4, 5});
  CHECK(round.sends.empty());
  CHECK(round.receives.size() == 1);
}
