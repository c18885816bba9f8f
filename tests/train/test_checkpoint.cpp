// Checkpoints on disk: damage is seen, whole ones are found, old ones go, failures leave no trace.
#include <catch2/catch.hpp>
#include <fstream>

#include "train/checkpoint/folder.h"
#include "train/checkpoint/manifest.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;
namespace fs = std::filesystem;

namespace {

struct SavedRun {
  SavedRun() : config(small_config(scratch.path)) {
    config.run.steps = 4;
    config.checkpoint.every = 1;
    config.checkpoint.keep = 3;
    train(config, 1);
    folder = config.run.dir + "/ckpt";
  }
  ScratchFolder scratch;
  Config config;
  std::string folder;
};

void flip_last_byte(const std::string& path) {
  std::string bytes = read_file(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("the newest whole checkpoint is found; damaged ones are passed over by name") {
  const SavedRun run;
  CHECK_FALSE(fs::exists(run.folder + "/step-1"));  // keep = 3
  CHECK(fs::exists(run.folder + "/step-2"));
  std::vector<std::string> notes;
  const auto note = [&](const std::string& text) { notes.push_back(text); };
  CHECK(newest_checkpoint(run.folder, note) == run.folder + "/step-4");
  flip_last_byte(run.folder + "/step-4/state.safetensors");
  fs::resize_file(run.folder + "/step-3/model/model.safetensors", 100);
  CHECK(newest_checkpoint(run.folder, note) == run.folder + "/step-2");
  REQUIRE(notes.size() == 2);
  CHECK_THAT(notes[0], Catch::Contains("step-4: state.safetensors is damaged"));
  CHECK_THAT(notes[1], Catch::Contains("step-3: model/model.safetensors has the wrong size"));
  fs::remove(run.folder + "/step-2/manifest.json");
  CHECK(newest_checkpoint(run.folder, note).empty());
  CHECK(newest_checkpoint(run.scratch.path + "/nowhere", note).empty());
}

TEST_CASE("a damaged checkpoint named outright is refused") {
  const SavedRun run;
  for (const std::string file :
       {"state.json", "state.safetensors", "model/config.json", "model/tokenizer.json"}) {
    const std::string checkpoint = run.folder + "/step-4";
    const std::string bytes = read_file(checkpoint + "/" + file);
    flip_last_byte(checkpoint + "/" + file);
    CHECK_THROWS_WITH(train(run.config, 1, checkpoint), Catch::Contains(file + " is damaged"));
    write_file(checkpoint + "/" + file, bytes);
  }
  CHECK_THROWS_WITH(train(run.config, 1, run.folder + "/step-9"),
                    Catch::Contains("no such checkpoint"));
}

TEST_CASE("an interrupted save leaves nothing that counts, and is tidied up") {
  const SavedRun run;
  fs::create_directories(run.folder + "/step-9.tmp/model");
  CHECK(newest_checkpoint(run.folder, [](const std::string&) {}) == run.folder + "/step-4");
  prune_checkpoints(run.folder, 2);
  CHECK_FALSE(fs::exists(run.folder + "/step-9.tmp"));
  CHECK_FALSE(fs::exists(run.folder + "/step-2"));
  CHECK(fs::exists(run.folder + "/step-3"));
}

TEST_CASE("a checkpoint folder that cannot be written ends every rank with the storage code") {
  const ScratchFolder scratch;
  Config config = small_config(scratch.path);
  config.run.steps = 1;
  write_file(scratch.path + "/file", "in the way");
  config.checkpoint.dir = scratch.path + "/file/ckpt";
  try {
    train(config, 2);
    FAIL("saving under a file worked");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::storage);
    CHECK_THAT(error.what(), Catch::Contains("/file"));
  }
}
