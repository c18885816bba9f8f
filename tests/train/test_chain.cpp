// Chains of checkpoints: every link that is missing, swapped or damaged is told by name.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "chain_fixture.h"
#include "helpers.h"

using namespace skep;
using namespace skep::test;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

// Whole at step 1, differences at 2, 3 and 4; another run's beside it.
struct TwoRuns {
  TwoRuns() : config(base_diff_config(scratch.path, 4, 8)), other(config) {
    train(config, 1);
    other.run.seed = 7;
    other.checkpoint.dir = scratch.path + "/other";
    train(other, 1);
    fs::copy(config.checkpoint.dir, scratch.path + "/intact", fs::copy_options::recursive);
  }
  void mend() const {
    fs::remove_all(config.checkpoint.dir);
    fs::copy(scratch.path + "/intact", config.checkpoint.dir, fs::copy_options::recursive);
  }
  std::string step(int n) const { return step_folder(config, n); }

  ScratchFolder scratch;
  Config config, other;
};

void replace(const std::string& folder, const std::string& by) {
  fs::remove_all(folder);
  fs::copy(by, folder, fs::copy_options::recursive);
}

void edit_manifest(const std::string& checkpoint, const std::function<void(Json&)>& edit) {
  const std::string path = checkpoint + "/manifest.json";
  Json json = Json::parse(read_file(path));
  edit(json);
  write_file(path, json.dump(2) + "\n");
}

}  // namespace

TEST_CASE("chain: a link that is missing, swapped or damaged is refused by name") {
  const TwoRuns run;
  struct Fault {
    std::string says;
    std::function<void()> make;
    std::string newest;  // that still is whole
  };
  const std::vector<Fault> faults = {
      {"step-1, on which it builds, is missing", [&] { fs::remove_all(run.step(1)); }, ""},
      {"step-3, on which it builds, is missing", [&] { fs::remove_all(run.step(3)); }, run.step(2)},
      {"step-2, on which it builds, is not the one it was saved after",
       [&] { replace(run.step(2), step_folder(run.other, 2)); }, run.step(1)},
      {"step-2, on which it builds, is not the one it was saved after",
       [&] { replace(run.step(2), run.step(3)); }, run.step(1)},
      {"step-1, on which it builds, is not the one it was saved after",
       [&] { replace(run.step(1), step_folder(run.other, 1)); }, run.step(1)},
      {"step-1, on which it builds: state.safetensors is damaged",
       [&] { flip_bit(run.step(1) + "/state.safetensors"); }, ""},
      {"step-1, on which it builds: model/tokenizer.json is missing",
       [&] { fs::remove(run.step(1) + "/model/tokenizer.json"); }, ""},
      {"step-2, on which it builds: xor.rank-0 is damaged",
       [&] { flip_bit(run.step(2) + "/xor.rank-0"); }, run.step(1)},
      {"step-3, on which it builds: xor.rank-0 has the wrong size",
       [&] { fs::resize_file(run.step(3) + "/xor.rank-0", 10); }, run.step(2)},
      {"step-3/manifest.json is damaged",
       [&] { fs::resize_file(run.step(3) + "/manifest.json", 100); }, run.step(2)},
      {"xor.rank-0 is damaged", [&] { flip_bit(run.step(4) + "/xor.rank-0"); }, run.step(3)},
      {"state.json is missing", [&] { fs::remove(run.step(4) + "/state.json"); }, run.step(3)},
  };
  for (const Fault& fault : faults) {
    INFO(fault.says);
    run.mend();
    REQUIRE_FALSE(find_fault(run.step(4)).has_value());
    fault.make();
    std::vector<std::string> notes;
    CHECK(newest_checkpoint(run.config.checkpoint.dir, [&](const std::string& note) {
            notes.push_back(note);
          }) == fault.newest);
    REQUIRE_FALSE(notes.empty());
    CHECK_THAT(notes.front(), Catch::StartsWith("skipping checkpoint " + run.step(4) + ": ") &&
                                  Catch::Contains(fault.says));
    const std::string told = error_of(ErrorKind::data, [&] { train(run.config, 1, run.step(4)); });
    CHECK_THAT(
        told, Catch::Contains("cannot resume from this checkpoint") && Catch::Contains(fault.says));
  }
}

// Hashes that fit cannot hide that something else comes out: the manifest of the last link is the
// only one that no other vouches for.
TEST_CASE("chain: a restore that comes out otherwise than it was saved is refused") {
  const TwoRuns run;
  const std::string file = GENERATE("model/model.safetensors", "state.safetensors");
  const auto edit = [&](const std::function<void(Json&)>& change) {
    run.mend();
    edit_manifest(run.step(4), [&](Json& json) { change(json["restores"][file]); });
    CHECK_FALSE(find_fault(run.step(4)).has_value());
    return error_of(ErrorKind::data, [&] { Chain(run.step(4)).tensors(file); });
  };
  CHECK_THAT(edit([](Json& f) { f["parts"][0]["xxh3"] = "0123456789abcdef"; }),
             Catch::Contains(file + " cannot be restored: what comes out is not what was saved"));
  CHECK_THAT(edit([](Json& f) { f["parts"][0]["at"] = 1; }), Catch::Contains("not what was saved"));
  for (const char* number : {"bytes", "at", "packed"})
    CHECK_THAT(edit([&](Json& f) { f["parts"][0][number] = ~std::uint64_t{0}; }),
               Catch::Contains("manifest.json is damaged"));
  CHECK_THAT(edit([&](Json& f) { f["against"] = file; }), Catch::Contains("has no reference"));
}

TEST_CASE("chain: a manifest that makes no sense is damaged, whatever it says") {
  const TwoRuns run;
  const std::vector<std::function<void(Json&)>> edits = {
      [](Json& json) { json["previous"]["step"] = "three"; },
      [](Json& json) { json["previous"].erase("xxh3"); },
      [](Json& json) { json["previous"]["xxh3"] = "quux"; },
      [](Json& json) { json["previous"]["xxh3"] = "99999999999999999999"; },
      [](Json& json) { json["restores"]["state.safetensors"]["parts"] = Json::array(); },
      [](Json& json) { json["restores"]["state.safetensors"].erase("against"); },
      [](Json& json) { json["restores"] = 3; },
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    INFO("edit " << i);
    run.mend();
    edit_manifest(run.step(4), edits[i]);
    CHECK_THAT(error_of(ErrorKind::data, [&] { Chain chain(run.step(4)); }),
               Catch::Contains("step-4/manifest.json is damaged"));
    CHECK(find_fault(run.step(4)).has_value());
  }
}

TEST_CASE("chain: a checkpoint is found by any name it has") {
  const TwoRuns run;
  CHECK_FALSE(find_fault(run.step(4) + "/").has_value());
  CHECK_FALSE(find_fault(run.config.checkpoint.dir + "/../ckpt/./step-4").has_value());
  fs::create_directory_symlink(run.step(4), run.scratch.path + "/latest");
  CHECK_FALSE(find_fault(run.scratch.path + "/latest").has_value());
  CHECK(Chain(run.scratch.path + "/latest").folders().size() == 4);
}
