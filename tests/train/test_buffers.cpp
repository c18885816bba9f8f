// Buffers: what the model reads but does not train. With ddp.broadcast_buffers a rank whose own are
// wrong computes with rank 0's; without it they cost no bytes.
#include <catch2/catch.hpp>

#include "train/sync/buffers.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

constexpr std::int64_t context = 16, table_bytes = 4 * context;

// On rank 1, position p is looked up as p + 1.
void shift_positions(Parts& parts) {
  if (parts.comm.rank() != 1) return;
  auto* ids = parts.model->buffers().front()->value.data<std::int32_t>();
  for (std::int64_t p = 0; p < context; ++p) ids[p] = static_cast<std::int32_t>((p + 1) % context);
}

// Sent by all ranks together, as their counters have it.
struct Sent {
  std::int64_t buffers = 0, all = 0;
};
Sent bytes_sent(const Config& config, int ranks) {
  Sent sent;
  run_ranks(ranks, [&](Communicator& comm) {
    Parts parts = build_parts(config, comm);
    parts.validation.reset();
    Trainer(parts, build_limits(config)).run();
    auto phases = comm.traffic().by_phase();
    const auto total = [&](std::uint64_t own) {
      return comm.all_reduce(static_cast<std::int64_t>(own), Combine::sum);
    };
    const std::uint64_t all = comm.traffic().total().bytes_sent;
    const Sent sums{total(phases["buffers"].bytes_sent), total(all)};
    if (comm.rank() == 0) sent = sums;
  });
  return sent;
}

}  // namespace

TEST_CASE(
    "ddp.broadcast_buffers: a rank with a wrong table trains with rank 0's, or with its own") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 4;
  const Recording right = train(config, 3);
  CHECK(train(config, 3, "", shift_positions).final_values == right.final_values);
  config.ddp.broadcast_buffers = false;
  CHECK(train(config, 3).final_values == right.final_values);
  CHECK(train(config, 3, "", shift_positions).final_values != right.final_values);
}

TEST_CASE("ddp.broadcast_buffers: the table to every other rank once a step, or not a byte") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 6;
  const std::string topology = GENERATE("ring", "tree", "full_mesh");
  config.comm.topology = topology;
  for (const int ranks : {1, 2, 3}) {
    INFO(topology << " " << ranks);
    config.ddp.broadcast_buffers = true;
    const Sent on = bytes_sent(config, ranks);
    config.ddp.broadcast_buffers = false;
    const Sent off = bytes_sent(config, ranks);
    CHECK(on.buffers == 6 * (ranks - 1) * table_bytes);
    CHECK(off.buffers == 0);
    CHECK(on.all - off.all == on.buffers);
  }
}

TEST_CASE("buffers are shared where gradients meet: once a period, never by ranks that are apart") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 12;
  config.sync.period = 4;
  config.sync.rule = "accumulate";
  CHECK(bytes_sent(config, 2).buffers == 3 * table_bytes);
  config.sync.rule = "local_sgd";
  CHECK(bytes_sent(config, 2).buffers == 0);
}

TEST_CASE("buffers are saved and restored") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 2;
  config.ddp.broadcast_buffers = false;
  train(config, 1);
  std::vector<double> restored;
  run_ranks(2, [&](Communicator& comm) {
    Parts parts = build_parts(config, comm);
    shift_positions(parts);
    Trainer(parts, build_limits(config)).resume(config.run.dir + "/ckpt/step-2");
    if (comm.rank() == 1) restored = to_doubles(parts.model->buffers().front()->value);
  });
  std::vector<double> counting;
  for (std::int64_t p = 0; p < context; ++p) counting.push_back(static_cast<double>(p));
  CHECK(restored == counting);
}
