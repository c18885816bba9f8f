// Going on from a checkpoint with settings other than those it was saved with: what fits goes on,
// what does not is told or refused by the name of the key, and replicas never part in silence.
#include <algorithm>
#include <catch2/catch.hpp>

#include "helpers.h"
#include "model/hf/model_folder.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

struct Saved {
  explicit Saved(const std::function<void(Config&)>& settings, std::int64_t steps = 6, int n = 2)
      : ranks(n), config(small_config(scratch.path)) {
    Config first = config;
    settings(first);
    first.run.steps = steps;
    first.run.dir = scratch.path + "/first";
    train(first, ranks);
    checkpoint = fmt::format("{}/first/ckpt/step-{}", scratch.path, steps);
    config.run.steps = steps + 6;
  }
  Recording go_on(const std::function<void(Config&)>& settings, int n = 0) const {
    Config second = config;
    settings(second);
    return train(second, n > 0 ? n : ranks, checkpoint);
  }
  ScratchFolder scratch;
  int ranks;
  Config config;
  std::string checkpoint;
};

void plain(Config&) {}
void local(Config& c) { c.sync.rule = "local_sgd"; }
void gathering(Config& c) { c.sync.rule = "accumulate"; }
void outer(Config& c) { c.sync.rule = "diloco"; }
void int8(Config& c) { c.compress.codec = "int8"; }
void adaptive(Config& c) { c.loss.view_weighting = "adaptive", c.loss.ema = 0.5; }
void uncertain(Config& c) { c.loss.z_weight = 0.01, c.loss.task_weighting = "uncertainty"; }
void best(Config& c) {
  c.schedule.kind = "warm_restarts", c.schedule.cycle = 3, c.schedule.restart_from = "best";
}

bool tells(const Recording& run, const std::string& part) {
  return std::any_of(run.messages.begin(), run.messages.end(),
                     [&](const std::string& text) { return text.find(part) != text.npos; });
}

}  // namespace

TEST_CASE("ranks that were apart become one where the rule now keeps them equal") {
  // Where they have just met weights are equal and moments are not; in mid-period neither is.
  const std::int64_t steps = GENERATE(8, 6);
  const auto rule = GENERATE(local, outer);
  const Saved saved(rule, steps);
  const Recording run = saved.go_on(plain);  // compares parameters after every step
  CHECK(run.steps.size() == 6);
  CHECK(tells(run, "the ranks are one again"));
}

TEST_CASE("a topology of clusters, then one of all: the ranks become one") {
  const Saved saved([](Config& c) { c.comm.topology = "exponential", c.sync.rule = "local_sgd"; },
                    5, 4);
  CHECK(tells(saved.go_on(plain), "the ranks are one again"));
}

TEST_CASE("what a checkpoint has and the run has no use for is told") {
  CHECK(tells(Saved(gathering).go_on(plain),
              "the gradient of a period's steps so far: dropped, as sync.rule"));
  CHECK(tells(Saved(int8).go_on(plain), "residuals, what a codec had not sent yet: dropped"));
  CHECK(tells(Saved(adaptive).go_on(plain), "the losses of the ranks' views so far: dropped"));
  CHECK(tells(Saved(outer).go_on(local), "the outer step's momentum: dropped"));
  for (const auto& settings : {plain, int8, gathering, outer, adaptive, best}) {
    const Recording same = Saved(settings).go_on(settings);
    CHECK_FALSE(tells(same, "dropped"));
    CHECK_FALSE(tells(same, "begun anew"));
  }
}

TEST_CASE("what a checkpoint lacks begins anew, and is told; or is refused by the key's name") {
  const Saved saved(plain);
  CHECK(tells(saved.go_on(int8),
              "residuals, what a codec had not sent yet: begun anew "
              "(compress.codec"));
  CHECK(tells(saved.go_on(gathering), "the gradient of a period's steps so far: begun anew"));
  CHECK(tells(saved.go_on(adaptive), "begun anew (loss.view_weighting and loss.ema)"));
  CHECK(tells(saved.go_on(best), "the best weights so far: begun anew (schedule.restart_from)"));
  CHECK_THROWS_WITH(saved.go_on(outer), Catch::Contains("sync.rule is not what it was"));
  CHECK_THROWS_WITH(saved.go_on(uncertain), Catch::Contains("another loss.task_weighting"));
}

TEST_CASE("ranks that had met and have no state of their own go on in any number") {
  const Saved met(local, 8), parted(local, 6), coded(int8, 8);
  for (const int ranks : {1, 3, 4}) {
    INFO(ranks << " ranks");
    CHECK(met.go_on(plain, ranks).steps.size() == 6);
    CHECK(met.go_on(local, ranks).steps.size() == 6);
    CHECK_THROWS_WITH(parted.go_on(local, ranks),
                      Catch::Contains("weights that are apart") && Catch::Contains("with 2 ranks"));
    CHECK_THROWS_WITH(coded.go_on(int8, ranks), Catch::Contains("residuals"));
  }
  // Weights are what they were, moments the mean of what they were.
  const auto first_loss = [&](int ranks) { return met.go_on(plain, ranks).steps.front().loss; };
  CHECK(first_loss(1) == Approx(first_loss(2)).epsilon(1e-5));
}

TEST_CASE("another precision: the recorded loss is left aside, and that is told") {
  const Saved saved(plain);
  const Recording run = saved.go_on([](Config& c) { c.precision.compute = "bf16"; });
  CHECK(tells(run, "precision.compute is not what it was"));
  CHECK_FALSE(tells(saved.go_on(plain), "precision.compute"));
}

TEST_CASE("another text, tokenizer or split of the data is refused by its key") {
  const Saved saved(plain);
  const auto refusal = [&](const std::function<void(Config&)>& settings) {
    return error_of(ErrorKind::data, [&] { saved.go_on(settings); });
  };
  CHECK_THAT(refusal([&](Config& c) {
               c.data.train = saved.scratch.path + "/other.txt";
               std::string text = read_file(saved.config.data.train);
               std::swap(text[10], text[40]);
               write_file(c.data.train, text);
             }),
             Catch::Contains("the text of data.train is not the one"));
  CHECK_THAT(refusal([](Config& c) { c.data.val_fraction = 0.2; }),
             Catch::Contains("data.val_fraction"));
}

TEST_CASE("ranks that have met are equal to the bit, also where a third is no binary fraction") {
  const Saved saved(outer, 8, 3);
  const Recording rest = saved.go_on(
      [](Config& c) {
        outer(c);
        c.run.steps = 12;
      },
      3);
  CHECK(std::count(rest.messages.begin(), rest.messages.end(), "step 12: consensus distance 0") ==
        1);
  // The model for everyone to use is what they have, not a mean that is rounded anew.
  const LoadedModel model = open_model(saved.checkpoint + "/model");
  const Recording at_rest = saved.go_on(
      [](Config& c) {
        outer(c);
        c.run.steps = 8;
      },
      3);
  CHECK(to_doubles(model.parameters->values()) == at_rest.final_values);
}

TEST_CASE("a run that diverges does not push out its good checkpoints") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.precision.compute = GENERATE("fp32", "fp16");
  config.checkpoint.every = 1;
  config.run.steps = 6;
  train(config, 2);
  config.run.steps = 18;
  config.optim.lr = 1e20;
  const std::string good = scratch.path + "/run/ckpt/step-6";
  try {
    train(config, 2, good);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::non_finite);
  }
  INFO(config.precision.compute);
  CHECK(std::filesystem::exists(good + "/manifest.json"));
}
