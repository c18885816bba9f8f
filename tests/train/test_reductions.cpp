// The ways to add gradients over ranks: which bits they promise, and what they send.
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/autograd/grad_slot.h"
#include "engine/ops/ops.h"
#include "train/sync/every_step.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

struct One final : Module {
  explicit One(std::int64_t n) : p(parameter("p", {n}, constant_init(0))) {}
  Tensor forward(const Tensor& x, const Pass&) override { return x; }
  const Parameter& p;
};

using GradientOf = std::function<float(int rank, std::int64_t i)>;

/// Rank 0's sums of `n` gradients over `ranks` ranks, and the bytes it sent for them.
struct Summed {
  std::vector<double> sums;
  std::uint64_t bytes = 0;
};
Summed add_up(const std::function<std::unique_ptr<Reduction>()>& make, const std::string& topology,
              int ranks, std::int64_t n, const GradientOf& gradient) {
  Summed result;
  run_ranks(ranks, [&](Communicator& comm) {
    One module(n);
    ParameterStore store(module, 1);
    store.clear_gradients();
    BucketedSum sum(make(), {});
    const auto wires = make_topology(topology);
    const SyncRound round{comm, *wires, 1, 0};
    sum.before_backward(store, round, {0, 1});
    for (std::int64_t i = 0; i < n; ++i) store.grads().data<float>()[i] = gradient(comm.rank(), i);
    const auto slot = store.list()[0].value.slot();
    slot->written = true;
    slot->on_ready(*slot);  // as backward does when a gradient is complete
    sum.finish(store, round);
    const std::uint64_t sent = comm.traffic().by_topology().at(topology).bytes_sent;
    const auto mine = to_doubles(store.list()[0].grad);
    const auto bytes = std::span(reinterpret_cast<const std::byte*>(mine.data()), mine.size() * 8);
    if (!comm.all_equal(std::hash<std::string_view>{}(
                            {reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
             .empty())
      throw std::runtime_error("replicas differ");
    if (comm.rank() == 0) result = {mine, sent};
  });
  return result;
}

std::unique_ptr<Reduction> rank_order() { return make_owner_sum(make_fp32_codec()); }
std::unique_ptr<Reduction> bf16_wire() { return make_owner_sum(make_bf16_codec()); }
std::unique_ptr<Reduction> exact() { return make_exact_reduction(0x1p24); }

const std::vector<std::string> global_topologies = {"ring", "tree", "full_mesh", "halving_doubling",
                                                    "hierarchical"};

}  // namespace

TEST_CASE("rank_order adds in rank order whatever the topology") {
  // ((1e8 + 1) - 1e8) + 1 in fp32: the first 1 is lost, the second is not.
  const GradientOf terms = [](int rank, std::int64_t) {
    return std::array{1e8f, 1.0f, -1e8f, 1.0f}[static_cast<std::size_t>(rank)];
  };
  for (const std::string& topology : global_topologies)
    for (const std::int64_t n : {1, 3, 4, 5, 1000}) {
      INFO(topology << " " << n);
      CHECK(add_up(rank_order, topology, 4, n, terms).sums ==
            std::vector<double>(static_cast<std::size_t>(n), 1.0));
    }
  CHECK(add_up(rank_order, "ring", 1, 5, terms).sums == std::vector<double>(5, 1e8));
}

TEST_CASE("the bf16 wire sends half the bytes and adds in fp32") {
  const std::int64_t n = 4000;
  // Four times 30000 is beyond fp16 and no multiple of bf16's step there, but each term and the sum
  // round by less than 2^-8.
  const GradientOf equal = [](int, std::int64_t) { return 30000.0f; };
  for (const double g : add_up(bf16_wire, "ring", 4, n, equal).sums)
    CHECK(std::abs(g - 120000) <= 120000 * 0x1p-8);
  const GradientOf varied = [](int rank, std::int64_t i) {
    return std::sin(static_cast<float>(i * 4 + rank)) * std::exp(static_cast<float>(i % 7));
  };
  const Summed narrow = add_up(bf16_wire, "full_mesh", 4, n, varied);
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int r = 0; r < 4; ++r) sum += varied(r, i);
    error += std::pow(narrow.sums[static_cast<std::size_t>(i)] - sum, 2);
    size += sum * sum;
  }
  // Rounding to 8 bits: at most 2^-9 each, 0.29 of a step on average, of the terms and of the sum.
  CHECK(std::sqrt(error / size) < 0.003);
  CHECK(std::sqrt(error / size) > 0.0005);
  CHECK(narrow.bytes == 2 * 3 * 2 * 1000);  // 2 (N-1)/N n elements of 2 bytes
  CHECK(add_up(rank_order, "full_mesh", 4, n, varied).bytes == 2 * narrow.bytes);
}

TEST_CASE("exact sums are multiples of one over the scale, to the last bit") {
  const GradientOf tiny = [](int rank, std::int64_t) { return rank == 0 ? 1000.0f : 0x1p-24f; };
  for (const std::string& topology : global_topologies)
    for (const double g : add_up(exact, topology, 4, 9, tiny).sums)
      CHECK(g == static_cast<double>(static_cast<float>(1000 + 3 * 0x1p-24)));
  const GradientOf cancels = [](int rank, std::int64_t) {
    return std::array{4e6f, 0x1p-20f, -4e6f}[static_cast<std::size_t>(rank)];
  };
  CHECK(add_up(exact, "tree", 3, 1, cancels).sums == std::vector<double>{0x1p-20});
}

TEST_CASE("exact trains the same bits at 1, 2, 3, 4 and 6 ranks and on every global topology") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 6;
  config.batch.micro_batch = 1;
  config.model.dropout = 0.1;
  config.comm.reduction = "exact";
  config.comm.bucket_mb = 0.02;
  const Recording one = train(config, 1);
  for (const int ranks : {2, 3, 4, 6})
    for (const std::string& topology : global_topologies) {
      if (ranks != 4 && topology != "ring") continue;
      INFO(ranks << " ranks, " << topology);
      config.comm.topology = topology;
      CHECK(train(config, ranks).final_values == one.final_values);
    }
  config.comm.reduction = "fast";
  const Recording fast = train(config, 2);
  CHECK(fast.final_values != one.final_values);
  CHECK(std::abs(fast.steps.back().loss - one.steps.back().loss) < 1e-4);
}

TEST_CASE("exact: what is not finite skips the step, what does not fit ends the run") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 2;
  config.comm.reduction = "exact";
  // The loss of the second step's batches is scaled on rank 1 only.
  struct Scaled final : Objective {
    Scaled(double f, int r) : factor(f), rank(r) {}
    double factor;
    int rank, calls = 0;
    Tensor loss(LanguageModel& model, const Batch& batch, const Pass& pass) override {
      const Tensor plain = make_next_token()->loss(model, batch, pass);
      return ++calls == 2 && rank == 1 ? scale(plain, factor) : plain;
    }
  };
  const auto run = [&](double factor) {
    return train(config, 2, "", [&](Parts& parts) {
      parts.validation.reset();
      parts.objective = std::make_unique<Scaled>(factor, parts.comm.rank());
    });
  };
  const Recording infinite = run(std::numeric_limits<double>::infinity());
  CHECK_FALSE(infinite.steps[0].skipped);
  CHECK(infinite.steps[1].skipped);
  CHECK_THROWS_WITH(run(1e9), Catch::Contains("exact_scale") && Catch::Contains("do not fit"));
}

TEST_CASE("every reduction, wire and overlap trains at 1, 2, 3 and 5 ranks") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 5;
  config.batch.global_batch = 30;
  config.comm.bucket_mb = 0.02;
  const Recording plain = train(config, 1);
  for (const auto& [reduction, wire] : {std::pair{"rank_order", "fp32"},
                                        {"fast", "bf16"},
                                        {"rank_order", "bf16"},
                                        {"exact", "fp32"}})
    for (const int ranks : {1, 2, 3, 5}) {
      INFO(reduction << " " << wire << " at " << ranks);
      config.comm.reduction = reduction;
      config.comm.wire = wire;
      config.comm.overlap = true;
      const Recording on = train(config, ranks);
      config.comm.overlap = false;
      CHECK(train(config, ranks).final_values == on.final_values);
      const double loss = on.steps.back().loss, expected = plain.steps.back().loss;
      CHECK(std::abs(loss - expected) < (std::string(wire) == "bf16" ? 1e-2 : 1e-4));
    }
}

TEST_CASE("exact: stopping and going on with another number of ranks changes nothing") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 8;
  config.batch.micro_batch = 1;
  config.model.dropout = 0.1;
  config.comm.reduction = "exact";
  config.checkpoint.dir = scratch.path + "/ckpt";
  config.checkpoint.every = 5;
  const Recording whole = train(config, 2);
  config.checkpoint.dir = scratch.path + "/again";
  for (const int ranks : {1, 2, 3, 4}) {
    INFO(ranks << " ranks");
    CHECK(train(config, ranks, scratch.path + "/ckpt/step-5").final_values == whole.final_values);
  }
}
