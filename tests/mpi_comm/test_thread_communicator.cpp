// The collectives with N ranks as threads, and what happens when one of them fails.
#include "mpi_comm/thread_communicator.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "collective_cases.h"
#include "mpi_comm/comm_error.h"

using namespace skep;
using Catch::Matchers::Contains;

namespace {

// Catch2's assertions are for one thread: collect first, assert afterwards.
Wrong on_all_ranks(int ranks, Wrong (*check)(Communicator&)) {
  Wrong all;
  std::mutex mutex;
  run_ranks(ranks, [&](Communicator& comm) {
    const Wrong wrong = check(comm);
    const std::lock_guard lock(mutex);
    all.insert(all.end(), wrong.begin(), wrong.end());
  });
  return all;
}

}  // namespace

TEST_CASE("thread communicator: tiny buffers, every collective", "[thread]") {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    CAPTURE(ranks);
    CHECK(on_all_ranks(ranks, check_tiny) == Wrong{});
  }
}

TEST_CASE("thread communicator: a million elements and three", "[thread]") {
  CHECK(on_all_ranks(3, check_large) == Wrong{});
}

TEST_CASE("thread communicator: clusters are the same on all ranks", "[thread]") {
  CHECK(on_all_ranks(5, check_rank_order) == Wrong{});
}

TEST_CASE("thread communicator: chunks of 7 change nothing", "[thread]") {
  for (const int ranks : {2, 3, 4}) CHECK(on_all_ranks(ranks, check_chunks) == Wrong{});
}

TEST_CASE("thread communicator: bytes, bits and scalars", "[thread]") {
  for (const int ranks : {1, 2, 3, 4, 8}) {
    CAPTURE(ranks);
    CHECK(on_all_ranks(ranks, check_traffic) == Wrong{});
    CHECK(on_all_ranks(ranks, check_scalars) == Wrong{});
  }
}

TEST_CASE("thread communicator: several plans in flight", "[thread]") {
  for (const int ranks : {1, 2, 3, 5}) CHECK(on_all_ranks(ranks, check_in_flight) == Wrong{});
}

TEST_CASE("thread communicator: letting go of a plan in flight waits for it", "[thread]") {
  std::vector<float> results(3);
  run_ranks(3, [&](Communicator& comm) {
    std::vector<float> data(1000, 2.0f);
    { const Pending pending = comm.start(default_topology().all_reduce(comm.place(), 1000), data); }
    results[static_cast<std::size_t>(comm.rank())] = data[999];
  });
  CHECK(results == std::vector<float>(3, 6.0f));
}

TEST_CASE("thread communicator: time waited is counted where it is waited", "[thread]") {
  std::vector<double> waited(2);
  run_ranks(2, [&](Communicator& comm) {
    if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    comm.barrier();
    waited[static_cast<std::size_t>(comm.rank())] = comm.traffic().total().wait_seconds;
  });
  CHECK(waited[0] > 0.1);
  CHECK(waited[1] < waited[0]);
}

TEST_CASE("thread communicator: a failing rank ends the waiting ones", "[thread]") {
  const auto fail_on_one = [] {
    run_ranks(3, [](Communicator& comm) {
      if (comm.rank() == 1) throw std::runtime_error("out of honey");
      std::vector<float> data(1000);
      for (;;) comm.all_reduce(data);
    });
  };
  CHECK_THROWS_WITH(fail_on_one(), "out of honey");
}

TEST_CASE("thread communicator: a rank may fail with messages under way", "[thread]") {
  const auto fail_in_flight = [] {
    run_ranks(3, [](Communicator& comm) {
      std::vector<float> data(1000);
      const Pending pending =
          comm.start(make_topology("ring")->all_reduce(comm.place(), 1000), data);
      if (comm.rank() == 2) throw std::runtime_error("out of honey");
      comm.barrier();
    });
  };
  CHECK_THROWS_WITH(fail_in_flight(), "out of honey");
}

TEST_CASE("thread communicator: an exchange whose counts do not fit is refused", "[thread]") {
  const auto exchange = [](std::vector<std::size_t> sends, std::vector<std::size_t> receives) {
    run_ranks(2, [&](Communicator& comm) {
      const std::vector<float> out(4);
      std::vector<float> in(4);
      comm.all_to_allv(out, sends, in, receives);
    });
  };
  CHECK_NOTHROW(exchange({2, 2}, {2, 2}));
  CHECK_THROWS_WITH(exchange({2, 3}, {2, 2}), Contains("the counts say 5 and 4"));
  CHECK_THROWS_WITH(exchange({1, 3}, {3, 1}), Contains("keeps 1 elements but expects 3"));
  CHECK_THROWS_WITH(exchange({4}, {4}), Contains("1 and 1 counts for a group of 2 ranks"));
}

TEST_CASE("thread communicator: ranks that disagree are told so", "[thread]") {
  const auto counts = [] {
    run_ranks(2, [](Communicator& comm) {
      std::vector<float> data(comm.rank() == 0 ? 10 : 17);
      comm.all_reduce(data);
    });
  };
  const auto types = [] {
    run_ranks(2, [](Communicator& comm) {
      if (comm.rank() == 0) {
        std::vector<float> data(8);
        comm.all_reduce(data);
      } else {
        std::vector<double> data(8);
        comm.all_reduce(data);
      }
    });
  };
  CHECK_THROWS_WITH(counts(), Contains("disagree about collective #0"));
  CHECK_THROWS_WITH(types(), Contains("f32") && Contains("f64"));
}
