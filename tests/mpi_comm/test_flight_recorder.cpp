// The flight recorder: what it keeps, and that a reader at any time sees whole records.
#include "mpi_comm/flight_recorder.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

using namespace skep;

namespace {

Fingerprint call(std::uint64_t sequence) {
  Fingerprint print;
  print.sequence = print.count = sequence;
  print.operation = std::string_view("all_reduce");
  return print;
}

}  // namespace

TEST_CASE("recorder: a collective from its start to its end", "[recorder]") {
  FlightRecorder recorder;
  recorder.doing("backward of ", "blocks.3.attention");
  recorder.start(call(0), 2);
  CHECK(recorder.find(0)->activity.view() == "backward of blocks.3.attention");
  CHECK_FALSE(recorder.find(0)->done());
  recorder.reach(0, 1);
  CHECK(recorder.find(0)->round == 1);
  CHECK_FALSE(recorder.find(0)->done());
  recorder.reach(0, 2);
  CHECK(recorder.find(0)->done());
  CHECK(recorder.find(0)->end_ns >= recorder.find(0)->start_ns);
  CHECK_FALSE(recorder.find(1).has_value());
  recorder.start(call(1), 0);  // a group of one
  CHECK(recorder.find(1)->done());
}

TEST_CASE("recorder: the one that is waited for", "[recorder]") {
  FlightRecorder recorder;
  for (const std::uint64_t sequence : {0, 1}) recorder.start(call(sequence), 2);
  CHECK_FALSE(recorder.awaited().has_value());
  recorder.wait_for(1);
  CHECK(recorder.awaited()->call.sequence == 1);
  recorder.go_on();
  CHECK_FALSE(recorder.awaited().has_value());
}

TEST_CASE("recorder: everything a rank does is a sign of life", "[recorder]") {
  FlightRecorder recorder;
  std::uint64_t before = recorder.signs_of_life();
  const auto grew = [&] {
    return recorder.signs_of_life() > std::exchange(before, recorder.signs_of_life());
  };
  CHECK_FALSE(grew());
  recorder.doing("data");
  CHECK(grew());
  recorder.start(call(0), 1);
  CHECK(grew());
  recorder.reach(0, 1);
  CHECK(grew());
}

TEST_CASE("recorder: the last 256 are kept", "[recorder]") {
  FlightRecorder recorder;
  for (std::uint64_t i = 0; i < 300; ++i) recorder.start(call(i), 1);
  const auto records = recorder.records();
  REQUIRE(records.size() == 256);
  CHECK(records.front().call.sequence == 44);
  CHECK(records.back().call.sequence == 299);
  CHECK_FALSE(recorder.find(43).has_value());
  recorder.reach(43, 1);  // late news of one that is forgotten
  CHECK_FALSE(recorder.find(299)->done());
}

TEST_CASE("recorder: a reader never sees half of a record", "[recorder]") {
  FlightRecorder recorder;
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> torn = 0, read = 0;
  std::thread reader([&] {
    while (!stop || read == 0)
      for (const CollectiveRecord& record : recorder.records()) {
        ++read;
        if (record.call.count != record.call.sequence) ++torn;
      }
  });
  for (std::uint64_t i = 0; i < 200000; ++i) recorder.start(call(i), 1);
  stop = true;
  reader.join();
  CHECK(torn == 0);
  CHECK(read > 0);
}
