// The watchdog: what it says, when it ends a run and when it lets it be.
#include "mpi_comm/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

using namespace skep;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

struct Folder {
  Folder()
      : path((std::filesystem::temp_directory_path() / fmt::format("skep-watchdog-{}", getpid()))
                 .string()) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

// A rank with a watchdog whose words are kept.
struct Rank {
  FlightRecorder recorder;
  std::mutex mutex;
  std::vector<std::string> warnings, endings;
  std::unique_ptr<Watchdog> watchdog;

  Rank(const Folder& folder, int rank, int ranks, double limit_seconds = 1) {
    WatchdogSettings settings;
    settings.folder = folder.path;
    settings.rank = rank;
    settings.ranks = ranks;
    settings.limit_seconds = limit_seconds;
    settings.warn = [this](const std::string& line) { keep(warnings, line); };
    settings.leave = [this](const std::string& line) { keep(endings, line); };
    watchdog = std::make_unique<Watchdog>(recorder, settings);
  }
  void keep(std::vector<std::string>& lines, const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  }
  bool ended() {
    const std::lock_guard lock(mutex);
    return !endings.empty();
  }
  void wait_in(std::uint64_t sequence) {
    Fingerprint call;
    call.sequence = sequence;
    call.operation = std::string_view("all_reduce");
    call.topology = std::string_view("ring");
    recorder.start(call, 6);
    recorder.reach(sequence, 2);
    recorder.wait_for(sequence);
  }
};

Heartbeat waits(int rank, std::uint32_t round) {
  FlightRecorder recorder;
  Heartbeat beat = make_heartbeat(recorder, rank);
  beat.waits = true;
  beat.operation = "all_reduce";
  beat.topology = "ring";
  beat.sequence = 812;
  beat.round = round;
  return beat;
}

Heartbeat works(int rank, const std::string& activity) {
  FlightRecorder recorder;
  recorder.doing(activity);
  return make_heartbeat(recorder, rank);
}

}  // namespace

TEST_CASE("watchdog: the line says who waits and what the others did", "[watchdog]") {
  CHECK(describe_stall(
            {waits(0, 2), works(1, "backward of blocks.3.attention"), waits(2, 2), waits(3, 2)}, 4,
            5) ==
        "ranks 0,2,3 wait in all_reduce #812 (ring, round 2); rank 1 was last in backward of "
        "blocks.3.attention");
  CHECK(describe_stall({waits(0, 2), waits(2, 0)}, 3, 5) ==
        "ranks 0,2 wait in all_reduce #812 (ring, rounds 0-2); of rank 1 nothing is known");
  Heartbeat behind = waits(1, 0);
  behind.sequence = 811;
  CHECK(describe_stall({waits(0, 1), behind}, 2, 5) ==
        "rank 1 waits in all_reduce #811 (ring, round 0); rank 0 waits in all_reduce #812 (ring, "
        "round 1)");
  Heartbeat stopped = waits(1, 0);
  stopped.written -= 40;
  stopped.host = "hive2";
  stopped.pid = 7;
  stopped.activity = "the optimizer's update";
  CHECK(describe_stall({waits(0, 1), stopped}, 2, 5) ==
        "rank 0 waits in all_reduce #812 (ring, round 1); the process of rank 1 (hive2, pid 7) has "
        "been silent for 40 s, last in the optimizer's update");
}

TEST_CASE("watchdog: a heartbeat survives its file", "[watchdog]") {
  const Folder folder;
  Heartbeat beat = waits(3, 4);
  beat.activity = "a \"quoted\" place";
  beat.idle_seconds = 1.5;
  beat.leaves = true;
  write_heartbeat(folder.path, beat);
  const auto read = read_heartbeat(folder.path, 3);
  REQUIRE(read.has_value());
  CHECK(read->rank == 3);
  CHECK(read->activity == beat.activity);
  CHECK(read->idle_seconds == 1.5);
  CHECK(read->sequence == 812);
  CHECK(read->round == 4);
  CHECK(read->waits);
  CHECK(read->leaves);
  CHECK(read->pid == getpid());
  CHECK_FALSE(read_heartbeat(folder.path, 4).has_value());
  std::ofstream(heartbeat_path(folder.path, 4)) << "{\"rank\": 4";
  CHECK_FALSE(read_heartbeat(folder.path, 4).has_value());
}

TEST_CASE("watchdog: a rank that waits in vain ends the run", "[watchdog]") {
  const Folder folder;
  Rank zero(folder, 0, 2), one(folder, 1, 2);
  one.recorder.doing("counting bees");
  zero.wait_in(0);
  for (int i = 0; i < 2000 && !(zero.ended() && one.ended()); ++i)
    std::this_thread::sleep_for(10ms);
  REQUIRE(zero.ended());
  CHECK_THAT(zero.endings[0],
             Contains("rank 0 waits in all_reduce #0 (ring, round 2); rank 1 was last in counting "
                      "bees"));
  REQUIRE(zero.warnings.size() == 1);
  CHECK_THAT(zero.warnings[0], StartsWith("no progress for "));
  CHECK(one.warnings.empty());
  REQUIRE(one.ended());  // it leaves too, without a word
  CHECK(one.endings[0].empty());
  for (int rank = 0; rank < 2; ++rank)
    CHECK(std::filesystem::exists(fmt::format("{}/flight.rank-{}.json", folder.path, rank)));
}

TEST_CASE("watchdog: while one rank works the others may wait", "[watchdog]") {
  const Folder folder;
  Rank zero(folder, 0, 2, 2), one(folder, 1, 2, 2);
  zero.wait_in(0);
  for (int i = 0; i < 500; ++i) {  // more than twice the limit
    one.recorder.doing("validation");
    std::this_thread::sleep_for(10ms);
  }
  CHECK_FALSE(zero.ended());
  CHECK_FALSE(one.ended());
}

TEST_CASE("watchdog: long work for which nobody waits is no stall", "[watchdog]") {
  const Folder folder;
  Rank zero(folder, 0, 2), one(folder, 1, 2);
  zero.recorder.doing("compiling");
  one.recorder.doing("compiling");
  std::this_thread::sleep_for(2500ms);
  CHECK_FALSE(zero.ended());
  CHECK(zero.warnings.empty());
}

TEST_CASE("watchdog: a run that ends well leaves no heartbeat", "[watchdog]") {
  const Folder folder;
  {
    Rank zero(folder, 0, 1);
    CHECK(std::filesystem::exists(heartbeat_path(folder.path, 0)));
  }
  CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("watchdog: an error leaves the record of the flight", "[watchdog]") {
  const Folder folder;
  try {
    Rank zero(folder, 0, 2);
    zero.wait_in(0);
    throw std::runtime_error("out of honey");
  } catch (const std::runtime_error&) {
  }
  std::ifstream file(folder.path + "/flight.rank-0.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  CHECK_THAT(text, Contains("\"sequence\": 0") && Contains("\"rounds_done\": 2"));
}
