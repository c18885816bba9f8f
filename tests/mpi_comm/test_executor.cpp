// The executor over a transport that only takes notes: chunks, tags, order, counters.
#include "mpi_comm/executor.h"

#include <catch2/catch.hpp>
#include <span>
#include <vector>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/topology.h"

using namespace skep;

namespace {

// Completes every message at once and never touches the data.
class NoteTaker : public Transport {
 public:
  struct Note {
    int peer, tag;
    std::size_t count;
    const std::byte* data;
  };
  std::vector<Note> sent, received;

  int rank() const override { return 0; }
  int size() const override { return 2; }
  int tag_count() const override { return 3; }
  Ticket send(int peer, int tag, WireView data) override {
    sent.push_back({peer, tag, data.count(), data.data()});
    return 0;
  }
  Ticket receive(int peer, int tag, WireSpan data) override {
    received.push_back({peer, tag, data.count(), data.data()});
    return 0;
  }
  bool test(Ticket) override { return true; }
  void idle() override {}
  void abandon() noexcept override {}
};

Plan send_all(std::size_t count) {
  return make_topology("tree")->broadcast({.rank = 0, .size = 2}, 0, count);
}

}  // namespace

TEST_CASE("executor: counts above 2^31 travel in chunks below it", "[executor]") {
  NoteTaker wire;
  Traffic traffic;
  Executor executor(wire, traffic);
  executor.set_max_chunk(Executor::largest_chunk);
  Plan plan;
  plan.topology = "one message";
  const std::size_t count = 3293642752;  // 64 * 1024 * 50257
  plan.rounds.resize(1);
  plan.rounds[0].send(1, {0, count});
  alignas(4) std::byte nothing[4];  // never read: only addresses are formed
  executor.start(plan, WireSpan(nothing, count, WireType::f32), Combine::sum).wait();

  REQUIRE(wire.sent.size() == 2);
  CHECK(wire.sent[0].count == 2147483584);
  CHECK(wire.sent[1].count == count - 2147483584);
  CHECK(reinterpret_cast<std::uintptr_t>(wire.sent[1].data) ==
        reinterpret_cast<std::uintptr_t>(nothing) + std::uintptr_t{4} * 2147483584);
  CHECK(traffic.of("one message").bytes_sent == 4 * count);
  CHECK(traffic.of("one message").messages_sent == 2);
}

TEST_CASE("executor: both sides of a message cut it alike", "[executor]") {
  NoteTaker wire;
  Traffic traffic;
  Executor executor(wire, traffic);
  executor.set_max_chunk(7);
  std::vector<float> data(40);
  Plan plan;
  plan.rounds.resize(1);
  plan.rounds[0].send(1, {0, 20});
  plan.rounds[0].receive(1, {20, 40});
  executor.start(plan, data, Combine::sum).wait();
  const auto counts = [](const std::vector<NoteTaker::Note>& notes) {
    std::vector<std::size_t> all;
    for (const auto& note : notes) all.push_back(note.count);
    return all;
  };
  CHECK(counts(wire.sent) == std::vector<std::size_t>{7, 7, 6});
  CHECK(counts(wire.received) == std::vector<std::size_t>{7, 7, 6});
}

TEST_CASE("executor: what is combined lands in a few slots in turn, piece by piece of all peers",
          "[executor]") {
  NoteTaker wire;
  Traffic traffic;
  Executor executor(wire, traffic);  // pieces of 2^16 floats: 256 KiB, of which 4 fill a MiB
  const std::size_t piece = 1 << 16, count = 5 * piece;
  std::vector<float> data(count);
  Plan plan;
  plan.rounds.resize(1);
  plan.rounds[0] = {OnArrival::combine, {}, {{1, {0, count}}, {2, {0, count}}}, {}};
  executor.start(plan, data, Combine::sum).wait();
  REQUIRE(wire.received.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(wire.received[i].count == piece);
    CHECK(wire.received[i].peer == (i % 2 == 0 ? 1 : 2));
    CHECK(wire.received[i].data == wire.received[i % 4].data);
  }
  CHECK(traffic.total().bytes_received == 2 * 4 * count);
}

TEST_CASE("executor: plans in flight have tags of their own, within the bound", "[executor]") {
  NoteTaker wire;
  Traffic traffic;
  Executor executor(wire, traffic);
  std::vector<float> data(1);
  for (int i = 0; i < 4; ++i) executor.start(send_all(1), data, Combine::sum).wait();
  std::vector<int> tags;
  for (const auto& note : wire.sent) tags.push_back(note.tag);
  CHECK(tags == std::vector<int>{0, 1, 2, 0});
}

TEST_CASE("executor: scratch memory is used again by the next collective", "[executor]") {
  NoteTaker wire;
  Traffic traffic;
  Executor executor(wire, traffic);
  std::vector<float> data(1000);
  for (const std::size_t count : {1000, 900, 1000}) {
    const Plan plan = make_topology("full_mesh")->all_reduce({.rank = 0, .size = 2}, count);
    executor.start(plan, std::span(data).first(count), Combine::sum).wait();
  }
  // In each plan rank 0 receives twice: what it is to add (in the scratch), then the other half.
  REQUIRE(wire.received.size() == 6);
  CHECK(wire.received[2].data == wire.received[0].data);
  CHECK(wire.received[4].data == wire.received[0].data);
  CHECK(wire.received[1].data == reinterpret_cast<std::byte*>(data.data() + 500));
}

TEST_CASE("executor: a chunk limit outside 1 to 2^31 - 64 is refused", "[executor]") {
  NoteTaker wire;
  Traffic traffic;
  Executor executor(wire, traffic);
  CHECK_THROWS_AS(executor.set_max_chunk(0), CommError);
  CHECK_THROWS_AS(executor.set_max_chunk(std::size_t{1} << 31), CommError);
}
