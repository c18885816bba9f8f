// Buckets and the sum over them: what is cut where, that overlap changes nothing, and that a bucket
// really leaves while backward still computes.
#include <catch2/catch.hpp>

#include "engine/autograd/tape.h"
#include "engine/ops/ops.h"
#include "train/sync/every_step.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

// Parameters of 64, 32, 1 and 48 elements; each starts on a multiple of 16.
struct Four final : Module {
  Four()
      : a(parameter("a", {64}, constant_init(1))),
        b(parameter("b", {32}, constant_init(1))),
        c(parameter("c", {1}, constant_init(1))),
        d(parameter("d", {48}, constant_init(1))) {}
  Tensor forward(const Tensor& x, const Pass&) override { return x; }
  const Parameter &a, &b, &c, &d;
};

std::vector<std::pair<std::int64_t, std::int64_t>> ranges(const std::vector<Bucket>& buckets) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (const Bucket& bucket : buckets) all.emplace_back(bucket.begin, bucket.end);
  return all;
}

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

}  // namespace

TEST_CASE("buckets cover the block from its end and never cut a parameter") {
  Four module;
  const ParameterStore store(module, 1);
  REQUIRE(store.size() == 64 + 32 + 16 + 48);
  CHECK(ranges(make_buckets(store, {1, 1})) == Ranges{{112, 160}, {96, 112}, {64, 96}, {0, 64}});
  CHECK(ranges(make_buckets(store, {16, 60})) == Ranges{{112, 160}, {0, 112}});
  CHECK(ranges(make_buckets(store, {1000, 1000})) == Ranges{{0, 160}});
  CHECK(make_buckets(store, {16, 40})[1].parameters == std::vector<std::size_t>{2, 1});
}

TEST_CASE("a bucket is at most a twentieth of the model, but no smaller than the first") {
  CHECK(for_overlap({10, 500}, 2000).elements == 100);
  CHECK(for_overlap({10, 50}, 2000).elements == 50);
  CHECK(for_overlap({10, 500}, 100).elements == 10);
  CHECK(for_overlap({500, 500}, 100).elements == 500);
}

TEST_CASE("a bucket leaves during backward, in the fixed order, and only in the last micro-batch") {
  run_ranks(2, [](Communicator& comm) {
    Four module;
    ParameterStore store(module, 1);
    BucketedSum sums(make_fast_reduction(), {{1, 1}, Overlap::yes});
    const auto ring = make_topology("ring");
    const SyncRound round{comm, *ring, 1, 0};
    const auto run_backward = [&](MicroBatch micro) {
      const std::uint64_t before = comm.traffic().total().collectives;
      Tape tape;
      // d is used last in forward, so it is complete first; a not at all.
      Tensor loss = sum(module.b.value);
      loss = add(loss, sum(module.c.value));
      loss = add(loss, sum(module.d.value));
      sums.before_backward(store, round, micro);
      tape.backward(loss);
      return comm.traffic().total().collectives - before;
    };
    store.clear_gradients();
    const std::uint64_t early = run_backward({0, 2}), late = run_backward({1, 2});
    store.zero_unwritten();
    sums.finish(store, round);
    if (early != 0) throw std::runtime_error("gradients left before they were complete");
    if (late != 3) throw std::runtime_error("started in backward: " + std::to_string(late));
    for (const auto& [path, expected] : {std::pair{"a", 0.0}, {"b", 4.0}, {"c", 4.0}, {"d", 4.0}})
      for (const double g : to_doubles(store.at(path).grad))
        if (g != expected) throw std::runtime_error(std::string(path) + " " + std::to_string(g));
  });
}

TEST_CASE("overlap on and off train the same bits, whatever the buckets") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 5;
  config.batch.micro_batch = 2;
  config.model.dropout = 0.1;
  for (const int ranks : {2, 3})
    for (const char* topology : {"ring", "tree", "full_mesh"})
      for (const double bucket_mb : {0.01, 25.0}) {
        INFO(ranks << " ranks, " << topology << ", buckets of " << bucket_mb << " MiB");
        config.comm.topology = topology;
        config.comm.bucket_mb = bucket_mb;
        config.comm.overlap = true;
        const Recording on = train(config, ranks);
        config.comm.overlap = false;
        CHECK(train(config, ranks).final_values == on.final_values);
      }
}
