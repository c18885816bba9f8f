// Planted faults: whatever is wrong with a plan, the simulator has to notice.
#include "mpi_comm/simulator.h"

#include <catch2/catch.hpp>

#include "mpi_comm/topology.h"
#include "topology_cases.h"

using namespace skep;
using Catch::Matchers::Contains;

namespace {

constexpr int ranks = 4;
constexpr std::size_t count = 10;

std::vector<Plan> plans_of(const Topology& topology) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < ranks; ++rank)
    plans.push_back(topology.all_reduce({.rank = rank, .size = ranks}, count));
  return plans;
}

struct Outcome {
  std::string faults;  // joined
  bool exact;          // every rank holds the sum of its group; each starts with its rank + 1
};

Outcome carry_out(const Topology& topology, const std::vector<Plan>& plans) {
  std::vector<std::vector<std::int64_t>> buffers;
  for (int rank = 0; rank < ranks; ++rank) buffers.emplace_back(count, rank + 1);
  Outcome outcome{"", true};
  for (const std::string& fault : simulate(plans, buffers)) outcome.faults += fault + "\n";
  for (const auto& group : topology.groups({.rank = 0, .size = ranks})) {
    std::int64_t sum = 0;
    for (const int rank : group) sum += rank + 1;
    for (const int rank : group)
      outcome.exact &=
          buffers[static_cast<std::size_t>(rank)] == std::vector<std::int64_t>(count, sum);
  }
  return outcome;
}

// The first round of rank 1 that receives (or sends) something.
Round& first_round_with(Plan& plan, std::vector<Transfer> Round::*list) {
  for (Round& round : plan.rounds)
    if (!(round.*list).empty()) return round;
  throw std::logic_error("the plan transfers nothing");
}

}  // namespace

TEST_CASE("simulator: finds nothing wrong with sound plans", "[simulator]") {
  for (const auto& [label, topology] : topology_cases(ranks)) {
    CAPTURE(label);
    const Outcome outcome = carry_out(*topology, plans_of(*topology));
    CHECK(outcome.faults.empty());
    CHECK(outcome.exact);
  }
}

TEST_CASE("simulator: a dropped receive or send is a deadlock", "[simulator]") {
  for (const auto& [label, topology] : topology_cases(ranks))
    for (const auto list : {&Round::sends, &Round::receives}) {
      CAPTURE(label);
      auto plans = plans_of(*topology);
      (first_round_with(plans[1], list).*list).pop_back();
      CHECK_THAT(carry_out(*topology, plans).faults, Contains("waits for ever"));
    }
}

TEST_CASE("simulator: a wrong range is named with both sides", "[simulator]") {
  for (const auto& [label, topology] : topology_cases(ranks)) {
    CAPTURE(label);
    auto plans = plans_of(*topology);
    --first_round_with(plans[1], &Round::sends).sends.front().range.end;
    CHECK_THAT(carry_out(*topology, plans).faults, Contains("rank 1 round") && Contains("takes"));
  }
}

TEST_CASE("simulator: adding instead of copying spoils the sums", "[simulator]") {
  for (const auto& [label, topology] : topology_cases(ranks)) {
    CAPTURE(label);
    auto plans = plans_of(*topology);
    plans[1].rounds.back().on_arrival = OnArrival::combine;
    CHECK_FALSE(carry_out(*topology, plans).exact);
  }
}

TEST_CASE("simulator: copying instead of adding spoils the sums", "[simulator]") {
  for (const auto& [label, topology] : topology_cases(ranks)) {
    CAPTURE(label);
    auto plans = plans_of(*topology);
    first_round_with(plans[0], &Round::receives).on_arrival = OnArrival::copy;
    const Outcome outcome = carry_out(*topology, plans);
    CHECK((!outcome.exact || !outcome.faults.empty()));
  }
}

TEST_CASE("simulator: blocks of an all_to_all must agree in size", "[simulator]") {
  const auto faults = [](std::size_t expected_by_2_from_1) {
    std::vector<Plan> plans;
    std::vector<std::vector<std::int64_t>> buffers;
    for (int rank = 0; rank < 3; ++rank) {
      const std::vector<std::size_t> sends{2, 2, 2};
      std::vector<std::size_t> receives{2, 2, 2};
      if (rank == 2) receives[1] = expected_by_2_from_1;
      plans.push_back(
          make_topology("ring")->all_to_all({.rank = rank, .size = 3}, sends, receives));
      buffers.emplace_back(20);
    }
    return simulate(plans, buffers);
  };
  CHECK(faults(2).empty());
  REQUIRE(faults(3).size() == 1);
  CHECK_THAT(faults(3).front(), Contains("rank 1 round 0 sends 4-6 but rank 2 round 0 takes 8-11"));
}

TEST_CASE("simulator: a plan that leans on buffering is a deadlock", "[simulator]") {
  // Both send first and receive in the next round: fine for small messages, fatal for large ones.
  std::vector<Plan> plans(2);
  for (int rank = 0; rank < 2; ++rank) {
    plans[static_cast<std::size_t>(rank)].rounds.resize(2);
    plans[static_cast<std::size_t>(rank)].rounds[0].send(1 - rank, {0, 1});
    plans[static_cast<std::size_t>(rank)].rounds[1].receive(1 - rank, {1, 2});
  }
  std::vector<std::vector<float>> buffers(2, std::vector<float>(2));
  CHECK(simulate(plans, buffers).size() == 2);
}

TEST_CASE("simulator: combining in an order that the senders cannot keep is a deadlock") {
  // Rank 0 combines what comes from 1 before what comes from 2; but 1 first waits for 2, which
  // first wants to be rid of its message to 0.
  std::vector<Plan> plans(3);
  plans[0].rounds.resize(1);
  plans[0].rounds[0] = {OnArrival::combine, {}, {{1, {0, 1}}, {2, {0, 1}}}};
  plans[1].rounds.resize(2);
  plans[1].rounds[0].receive(2, {1, 2});
  plans[1].rounds[1].send(0, {0, 1});
  plans[2].rounds.resize(2);
  plans[2].rounds[0].send(0, {0, 1});
  plans[2].rounds[1].send(1, {1, 2});
  std::vector<std::vector<float>> buffers(3, std::vector<float>(2));
  CHECK(simulate(plans, buffers).size() == 3);
  std::swap(plans[0].rounds[0].receives[0], plans[0].rounds[0].receives[1]);
  CHECK(simulate(plans, buffers).empty());
}

TEST_CASE("simulator: faults of a single round", "[simulator]") {
  const auto faults_of = [](const Round& round) {
    std::vector<Plan> plans(2);
    plans[0].rounds.push_back(round);
    std::vector<std::vector<float>> buffers(2, std::vector<float>(10));
    return simulate(plans, buffers).at(0);
  };
  using Transfers = std::vector<Transfer>;
  const auto sending = [](const Transfers& sends) { return Round{OnArrival::copy, sends, {}}; };
  CHECK_THAT(faults_of(sending({{2, {0, 1}}})), Contains("no such peer"));
  CHECK_THAT(faults_of(sending({{0, {0, 1}}})), Contains("no such peer"));
  CHECK_THAT(faults_of(sending({{1, {9, 11}}})), Contains("outside the buffer"));
  CHECK_THAT(faults_of({OnArrival::copy, {{1, {0, 4}}}, {{1, {3, 5}}}}),
             Contains("receives what it is sending"));
  CHECK_THAT(faults_of({OnArrival::copy, {}, {{1, {0, 4}}, {1, {3, 5}}}}),
             Contains("received twice"));
}
