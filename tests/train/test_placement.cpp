// How many threads a rank gets, on machines made up for the purpose.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "engine/core/error.h"
#include "mpi_comm/thread_communicator.h"
#include "train/gather.h"
#include "train/placement.h"

using namespace skep;

namespace {

std::vector<Placement> ranks_on(const std::vector<std::vector<int>>& processors) {
  std::vector<Placement> ranks;
  for (const auto& p : processors) ranks.push_back({"alpha", p, 0});
  return ranks;
}

std::vector<int> shares(const std::vector<Placement>& ranks) {
  std::vector<int> shares;
  for (int i = 0; i < static_cast<int>(ranks.size()); ++i) shares.push_back(fair_share(ranks, i));
  return shares;
}

using Shares = std::vector<int>;

}  // namespace

TEST_CASE("placement: ranks share the CPUs they may run on") {
  CHECK(shares(ranks_on({{0, 1, 2, 3}})) == Shares{4});
  CHECK(shares(ranks_on({{0, 1, 2, 3}, {0, 1, 2, 3}})) == Shares{2, 2});
  CHECK(shares(ranks_on({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}})) == Shares{1, 1, 1});
  CHECK(shares(ranks_on({{0}, {1}})) == Shares{1, 1});                   // bound to cores
  CHECK(shares(ranks_on({{0, 4}, {1, 5}})) == Shares{2, 2});             // with two threads each
  CHECK(shares(ranks_on({{0, 1}, {0, 1}, {2, 3}})) == Shares{1, 1, 2});  // two share a socket
  CHECK(shares(ranks_on({{0, 1}, {0, 1}, {0, 1}})) == Shares{1, 1, 1});  // more ranks than CPUs
  std::vector<Placement> apart = ranks_on({{0, 1}, {0, 1}});
  apart[1].host = "beta";
  CHECK(shares(apart) == Shares{2, 2});
}

TEST_CASE("placement: run.threads goes before OMP_NUM_THREADS, and both before the share") {
  std::vector<Placement> ranks = ranks_on({{0, 1, 2, 3}, {0, 1, 2, 3}});
  CHECK(threads_of(ranks, 1) == 2);
  ranks[1].wished_threads = 3;
  CHECK(threads_of(ranks, 0) == 2);
  CHECK(threads_of(ranks, 1) == 3);

  const char* before = std::getenv("OMP_NUM_THREADS");
  const std::string kept = before ? before : "";
  setenv("OMP_NUM_THREADS", "5", 1);
  CHECK(find_placement(0).wished_threads == 5);
  CHECK(find_placement(2).wished_threads == 2);
  setenv("OMP_NUM_THREADS", "many", 1);
  CHECK(find_placement(0).wished_threads == 0);
  unsetenv("OMP_NUM_THREADS");
  CHECK(find_placement(0).wished_threads == 0);
  if (before) setenv("OMP_NUM_THREADS", kept.c_str(), 1);
}

TEST_CASE("placement: hosts and their ranks") {
  std::vector<Placement> ranks = ranks_on({{0, 1}, {0, 1}, {1, 2}});
  CHECK(describe_hosts(group_by_host(ranks_on({{0}}))) == "1 rank on alpha");
  CHECK(describe_hosts(group_by_host(ranks)) == "3 ranks on alpha");
  ranks[1].host = "beta";
  const std::vector<HostGroup> hosts = group_by_host(ranks);
  CHECK(describe_hosts(hosts) == "3 ranks on 2 hosts: 2 on alpha, 1 on beta");
  CHECK(hosts[0].ranks == std::vector<int>{0, 2});
  CHECK(hosts[0].processors == std::vector<int>{0, 1, 2});
  CHECK(hosts[0].threads == 2);  // 1 + 1: CPU 1 is shared, and half a CPU is no thread
}

TEST_CASE("placement: crowded CPUs are told with the number that fits") {
  std::vector<Placement> ranks = ranks_on({{0, 1, 2, 3}, {0, 1, 2, 3}});
  CHECK(find_crowding(group_by_host(ranks)).empty());
  for (Placement& rank : ranks) rank.wished_threads = 4;
  CHECK_THAT(find_crowding(group_by_host(ranks)),
             Catch::Contains("8 threads of 2 ranks share 4 CPUs on alpha") &&
                 Catch::EndsWith("--run.threads 2"));
  // More ranks than CPUs with one thread each: fewer threads would not help.
  CHECK(find_crowding(group_by_host(ranks_on({{0}, {0}, {0}}))).empty());
}

TEST_CASE("gather: every rank gets the texts of all") {
  for (int size : {1, 2, 3, 5})
    run_ranks(size, [&](Communicator& comm) {
      // Lengths 0, 7, 14 …
      std::string mine;
      for (int i = 0; i < comm.rank(); ++i) mine += "abcdefg";
      const std::vector<std::string> all = gather_texts(comm, mine);
      check(all.size() == static_cast<std::size_t>(size), "{} texts", all.size());
      for (std::size_t i = 0; i < all.size(); ++i)
        check(all[i].size() == 7 * i && all[i].find("gb") == std::string::npos, "text {}: {}", i,
              all[i]);
      const Placement place{"alpha", {3, comm.rank() + 4}, comm.rank()};
      const std::vector<Placement> places = gather_placements(comm, place);
      const Placement& last = places.back();
      check(last.host == "alpha" && last.processors == std::vector<int>{3, size + 3} &&
                last.wished_threads == size - 1,
            "the last rank's place got lost");
    });
}
