// Agreement over a channel that the test holds in its hands.
#include "mpi_comm/agreement.h"

#include <catch2/catch.hpp>
#include <deque>
#include <utility>
#include <vector>

#include "mpi_comm/comm_error.h"

using namespace skep;
using Catch::Matchers::Contains;

namespace {

struct Wire {
  std::vector<std::pair<int, Fingerprint>> sent;
  std::deque<Fingerprint> coming;
};

class HandChannel final : public FingerprintChannel {
 public:
  explicit HandChannel(Wire& wire) : wire_(wire) {}
  void send(int peer, const Fingerprint& print) override { wire_.sent.emplace_back(peer, print); }
  bool receive(Fingerprint& print) override {
    if (wire_.coming.empty()) return false;
    print = wire_.coming.front();
    wire_.coming.pop_front();
    return true;
  }

 private:
  Wire& wire_;
};

Fingerprint call(std::uint64_t sequence, int rank, std::uint64_t count = 10) {
  Fingerprint print;
  print.sequence = sequence;
  print.rank = rank;
  print.count = count;
  print.operation = std::string_view("all_reduce");
  return print;
}

// Rank 2 of the others' view.
struct Rank2 {
  Wire wire;
  FlightRecorder recorder;
  TrafficCounts counts;
  Agreement agreement{std::make_unique<HandChannel>(wire), recorder};

  void start(std::uint64_t sequence, const std::vector<int>& group) {
    recorder.start(call(sequence, 2), 1);
    agreement.announce(call(sequence, 2), group, counts);
  }
};

}  // namespace

TEST_CASE("agreement: basic tells the next position of the group and hears one", "[agreement]") {
  Rank2 me;
  me.start(0, {4, 2, 7});
  REQUIRE(me.wire.sent.size() == 1);
  CHECK(me.wire.sent[0].first == 7);
  CHECK(me.counts.check_bytes_sent == sizeof(Fingerprint));
  CHECK(me.counts.bytes_sent == 0);
  CHECK_FALSE(me.agreement.reached(0));
  CHECK_FALSE(me.agreement.progress());
  me.wire.coming.push_back(call(0, 4));
  CHECK(me.agreement.progress());
  CHECK(me.agreement.reached(0));
}

TEST_CASE("agreement: the last position tells the first", "[agreement]") {
  Rank2 me;
  me.start(0, {0, 1, 2});
  CHECK(me.wire.sent[0].first == 0);
}

TEST_CASE("agreement: full tells and hears the whole group", "[agreement]") {
  Rank2 me;
  me.agreement.set_check(Check::full);
  me.start(0, {0, 1, 2, 3});
  CHECK(me.wire.sent.size() == 3);
  CHECK(me.counts.check_bytes_sent == 3 * sizeof(Fingerprint));
  for (const int rank : {3, 0}) me.wire.coming.push_back(call(0, rank));
  me.agreement.progress();
  CHECK_FALSE(me.agreement.reached(0));
  me.wire.coming.push_back(call(0, 1));
  me.agreement.progress();
  CHECK(me.agreement.reached(0));
}

TEST_CASE("agreement: a rank alone tells nobody and waits for nobody", "[agreement]") {
  Rank2 me;
  me.start(0, {2});
  me.start(1, {});  // a plan made by hand
  CHECK(me.wire.sent.empty());
  CHECK(me.agreement.reached(0));
  CHECK(me.agreement.reached(1));
}

TEST_CASE("agreement: a rank ahead of this one is heard when this one gets there", "[agreement]") {
  Rank2 me;
  me.start(0, {1, 2});
  for (const std::uint64_t sequence : {0, 1, 2})
    me.wire.coming.push_back(call(sequence, 1, sequence == 2 ? 11 : 10));
  me.agreement.progress();
  CHECK(me.agreement.reached(0));
  me.start(1, {1, 2});
  CHECK(me.agreement.reached(1));
  CHECK_THROWS_WITH(me.start(2, {1, 2}),
                    Contains("#2: rank 1 starts all_reduce of 11") && Contains("rank 2 starts"));
}

TEST_CASE("agreement: plans in flight are compared each with its own", "[agreement]") {
  Rank2 me;
  for (const std::uint64_t sequence : {0, 1, 2}) me.start(sequence, {1, 2});
  me.wire.coming.push_back(call(1, 1));
  me.agreement.progress();
  CHECK_FALSE(me.agreement.reached(0));
  CHECK(me.agreement.reached(1));
  me.wire.coming.push_back(call(0, 1));
  me.wire.coming.push_back(call(2, 1, 9));
  CHECK_THROWS_WITH(me.agreement.progress(), Contains("#2"));
}

TEST_CASE("agreement: full shows all sides, also those that come after the difference",
          "[agreement]") {
  Rank2 me;
  me.agreement.set_check(Check::full);
  me.start(0, {0, 1, 2, 3});
  me.wire.coming.push_back(call(0, 0));
  me.wire.coming.push_back(call(0, 1, 11));
  me.wire.coming.push_back(call(0, 3));
  CHECK_THROWS_WITH(me.agreement.progress(),
                    Contains("ranks 0,2,3 start all_reduce of 10") && Contains("rank 1 starts"));
}

TEST_CASE("agreement: a rank that takes this one for a member of its group is told otherwise",
          "[agreement]") {
  Rank2 me;
  me.start(0, {2});
  me.start(1, {1, 2});
  Fingerprint other = call(0, 3);
  other.group = 77;
  me.wire.coming.push_back(other);
  CHECK_THROWS_WITH(me.agreement.progress(), Contains("#0") && Contains("in another group"));
}

TEST_CASE("agreement: after a message that did not fit the explanation is waited for",
          "[agreement]") {
  Rank2 me;
  me.start(0, {1, 2});
  CHECK_NOTHROW(me.agreement.look_for_mismatch());
  me.wire.coming.push_back(call(0, 1, 11));
  CHECK_THROWS_AS(me.agreement.look_for_mismatch(), CommError);
}
