// inspect flight on records written by hand: who differs first, and what each did.
#include <catch2/catch.hpp>

#include "tests/tools/process.h"

using namespace skep;

namespace {

struct Entry {
  int sequence;
  std::string call;
  int rounds_done;
};

void write_record(const TemporaryFolder& folder, int rank, int ranks, const std::string& activity,
                  const std::vector<Entry>& entries) {
  std::string collectives;
  for (const Entry& e : entries)
    collectives += fmt::format(
        R"({}{{"sequence":{},"operation":"x","call":"{}","group":1,"rounds_done":{},"rounds":6,)"
        R"("started":1.5,"ended":{},"activity":"a"}})",
        collectives.empty() ? "" : ",", e.sequence, e.call, e.rounds_done,
        e.rounds_done == 6 ? "2.5" : "null");
  folder.file(fmt::format("flight.rank-{}.json", rank),
              fmt::format(R"({{"rank":{},"ranks":{},"host":"h","written":9,"idle_seconds":3,)"
                          R"("activity":"{}","collectives":[{}]}})",
                          rank, ranks, activity, collectives));
}

const std::string reduce = "all_reduce of 100 f32 (sum, ring, step 5)";

}  // namespace

TEST_CASE("inspect flight: a rank that did not come") {
  const TemporaryFolder folder;
  for (const int rank : {0, 2})
    write_record(folder, rank, 4, "the gradients' sync",
                 {{810, reduce, 6}, {811, reduce, 6}, {812, reduce, 2}});
  write_record(folder, 1, 4, "backward of blocks.3.attention",
               {{810, reduce, 6}, {811, reduce, 6}});
  const Finished finished = run_shell("inspect flight " + folder.path());
  CHECK(finished.err == "");
  CHECK(finished.exit_code == 0);
  CHECK(finished.out ==
        "no record of rank 3\n"
        "#810 to #811: alike on all 3\n"
        "#812: the first that differs\n"
        "  ranks 0,2      all_reduce of 100 f32 (sum, ring, step 5), 2 of 6 rounds done; last in "
        "the gradients' sync\n"
        "  rank 1         has not started it; last in backward of blocks.3.attention\n");
}

TEST_CASE("inspect flight: a rank that made another call, among records of different length") {
  const TemporaryFolder folder;
  write_record(folder, 0, 2, "", {{4, "forgotten by rank 1", 6}, {5, reduce, 6}, {6, reduce, 0}});
  write_record(folder, 1, 2, "", {{5, reduce, 6}, {6, "broadcast of 1 u8", 0}, {7, reduce, 0}});
  CHECK(run_shell("inspect flight " + folder.path()).out ==
        "#5 to #5: alike on all 2\n"
        "#6: the first that differs\n"
        "  rank 0         all_reduce of 100 f32 (sum, ring, step 5), 0 of 6 rounds done\n"
        "  rank 1         broadcast of 1 u8, 0 of 6 rounds done\n");
}

TEST_CASE("inspect flight: a collective that only some have finished differs") {
  const TemporaryFolder folder;
  write_record(folder, 0, 2, "", {{0, reduce, 6}});
  write_record(folder, 1, 2, "", {{0, reduce, 5}});
  CHECK_THAT(run_shell("inspect flight " + folder.path()).out,
             Catch::Contains("#0: the first that differs") &&
                 Catch::Contains("rank 0         " + reduce + ", done"));
}

TEST_CASE("inspect flight: records without a difference") {
  const TemporaryFolder folder;
  for (const int rank : {0, 1}) write_record(folder, rank, 2, "", {{0, reduce, 6}, {1, reduce, 3}});
  CHECK(run_shell("inspect flight " + folder.path()).out ==
        "#0 to #1: alike on all 2\nnone differs; #1 is the last\n  ranks 0,1      " + reduce +
            ", 3 of 6 rounds done\n");
}

TEST_CASE("inspect flight: nothing to read is an error that says so") {
  const TemporaryFolder folder;
  const Finished none = run_shell("inspect flight " + folder.path());
  CHECK(none.exit_code == 3);
  CHECK_THAT(none.err, Catch::Contains("no flight.rank-*.json"));
  folder.file("flight.rank-0.json", "{\"rank\": 0");
  const Finished broken = run_shell("inspect flight " + folder.path());
  CHECK(broken.exit_code == 3);
  CHECK_THAT(broken.err, Catch::Contains("flight.rank-0.json is no flight record"));
  CHECK(run_shell("inspect flight").exit_code == 2);
}
