// comm.check and comm.timeout reach the communicator, and the recorder hears which module computes.
#include <catch2/catch.hpp>

#include "engine/autograd/tape.h"
#include "train/observe/narrator.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;

namespace {

// Bytes of fingerprints that rank 0 of three sends with one collective.
std::uint64_t check_bytes(const Config& config) {
  std::uint64_t bytes = 0;
  run_ranks(3, [&](Communicator& comm) {
    const Parts parts = build_parts(config, comm);
    const std::uint64_t before = comm.traffic().total().check_bytes_sent;
    std::vector<float> data(8);
    comm.all_reduce(data);
    if (comm.rank() == 0) bytes = comm.traffic().total().check_bytes_sent - before;
  });
  return bytes;
}

}  // namespace

TEST_CASE("comm.check: basic compares with one neighbour, full with all") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  CHECK(check_bytes(config) == sizeof(Fingerprint));
  config.comm.check = "full";
  CHECK(check_bytes(config) == 2 * sizeof(Fingerprint));
}

TEST_CASE("comm.timeout: a watchdog for ranks that can wait for each other, unless it is 0") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  make_directories(run_directory(config));
  const auto watched = [&](int ranks) {
    int heartbeats = 0;
    run_ranks(ranks, [&](Communicator& comm) {
      const auto watchdog = build_watchdog(config, comm);
      comm.barrier();
      if (comm.rank() == 0)
        for (const auto& file : std::filesystem::directory_iterator(run_directory(config)))
          heartbeats += file.path().filename().string().starts_with("heartbeat.rank-") ? 1 : 0;
      comm.barrier();
    });
    return heartbeats;
  };
  CHECK(watched(2) == 2);
  CHECK(watched(1) == 0);
  config.comm.timeout = 0;
  CHECK(watched(2) == 0);
}

TEST_CASE("narrator: the recorder's activity names the module that computes") {
  const ScratchFolder scratch;
  const Config config = small_config(scratch.path);
  std::vector<std::string> wrong, forward, backward;
  run_ranks(1, [&](Communicator& comm) {
    Parts parts = build_parts(config, comm);
    parts.model->attach(make_narrator(comm));
    const auto expect = [&](const std::string& activity) {
      if (comm.recorder().activity().view() != activity) wrong.push_back(activity);
    };
    auto witness = std::make_shared<Probe>();
    witness->enter = [&](const std::string& path) {
      forward.push_back(path);
      expect("forward of " + (path.empty() ? "the model" : path));
    };
    witness->backward = [&](const std::string& path, const Tensor&) {
      backward.push_back(path);
      expect("backward of " + (path.empty() ? "the model" : path));
    };
    parts.model->attach(witness);
    Tape tape;
    tape.backward(parts.objective->loss(*parts.model, parts.loader->micro_batch(0, 0),
                                        Pass{.mode = Pass::Mode::train}));
  });
  CHECK(wrong.empty());
  const auto has = [](const std::vector<std::string>& paths, const std::string& path) {
    return std::find(paths.begin(), paths.end(), path) != paths.end();
  };
  CHECK(has(forward, "blocks.1.attention"));
  CHECK(has(backward, "blocks.1.attention"));
}
