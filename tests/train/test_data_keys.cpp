// What the keys data.workers, data.prefetch and data.drop_last do to a run.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

TEST_CASE("a slow reader shows in the steps' reports") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 4;
  config.batch.micro_batch = 4;  // three a step
  double now = 0;
  const Recording run = train(config, 1, "", [&](Parts& parts) {
    const auto slow = [&, loader = parts.loader.get()](std::int64_t position, std::int64_t index,
                                                       Batch& batch) {
      loader->fill(position, index, batch);
      now += position == 24 ? 1000 : 0.5;
    };
    parts.batches = std::make_unique<Prefetcher>(slow, parts.loader->split(),
                                                 Prefetcher::Settings{}, [&] { return now; });
  });
  REQUIRE(run.steps.size() == 4);
  for (const StepReport& step : run.steps) {
    CHECK(step.loader_wait_seconds == (step.step == 3 ? 3000 : 1.5));
    CHECK(step.compute_seconds ==
          Approx(step.step_seconds - step.comm_wait_seconds - step.loader_wait_seconds));
  }
}

TEST_CASE("a run is bit-equal with any number of workers, resumed ones too") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.batch.micro_batch = 2;
  config.model.dropout = 0.1;
  config.checkpoint.every = 15;  // 12 samples a step, 170 an epoch: 10 into the second
  config.data.drop_last = GENERATE(false, true);
  const Recording none = train(config, 2);
  for (const std::int64_t workers : {1, 3}) {
    config.data.workers = workers;
    config.data.prefetch = workers;
    const std::string name = fmt::format("{}/workers-{}", scratch.path, workers);
    config.run.dir = name;
    const Recording whole = train(config, 2);
    REQUIRE(whole.steps.size() == none.steps.size());
    for (std::size_t i = 0; i < none.steps.size(); ++i)
      CHECK(whole.steps[i].loss == none.steps[i].loss);
    CHECK(whole.final_values == none.final_values);
    config.run.dir = name + "-resumed";
    const Recording resumed = train(config, 2, name + "/ckpt/step-15");
    CHECK(resumed.steps.size() == 5);
    CHECK(resumed.final_values == none.final_values);
  }
}

TEST_CASE("data.workers is the number of threads, data.prefetch that of buffers beside the used") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.data.workers = 3;
  config.data.prefetch = 5;
  const auto threads = [] {
    std::set<std::string> ids;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
      ids.insert(thread.path().filename());
    return ids;
  };
  run_ranks(1, [&](Communicator& comm) {
    Parts parts = build_parts(config, comm);
    const auto before = threads();
    std::set<const Batch*> buffers;
    for (std::int64_t position = 0; position < 12 * 20; position += 12)
      buffers.insert(&parts.batches->micro_batch(position, 0));
    std::vector<std::string> started;
    std::ranges::set_difference(threads(), before, std::back_inserter(started));
    CHECK(started.size() == 3);
    CHECK(buffers.size() == 6);
  });
}

TEST_CASE("data.drop_last: steps of an epoch, and a checkpoint of the other kind is refused") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 15;
  // 2,701 training tokens: 170 windows of 16 at any shift, 14 batches of 12 and 2 over.
  CHECK(train(config, 1).steps[13].epoch == Approx(168.0 / 170).epsilon(1e-12));
  const std::string checkpoint = config.run.dir + "/ckpt/step-15";
  config.data.drop_last = true;
  CHECK_THROWS_WITH(train(config, 1, checkpoint),
                    Catch::Contains("number of samples in an epoch was 170, now it is 168"));
  CHECK(train(config, 1).steps[13].epoch == 1);
  config.batch.global_batch = 171;
  CHECK_THROWS_WITH(train(config, 1), Catch::Contains("data.drop_last leaves nothing to train on"));
}
