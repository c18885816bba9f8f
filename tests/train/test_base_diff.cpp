// Checkpoints as differences: they restore what whole ones hold, bit for bit; chains end; what is
// equal is stored once; what a kept one builds on stays.
#include <catch2/catch.hpp>

#include "chain_fixture.h"
#include "train/checkpoint/content.h"

using namespace skep;
using namespace skep::test;
namespace fs = std::filesystem;

namespace {

void require_same_tensors(const SafetensorsFile& restored, const SafetensorsFile& whole) {
  REQUIRE(restored.tensors().size() == whole.tensors().size());
  CHECK(restored.metadata() == whole.metadata());
  for (std::size_t i = 0; i < whole.tensors().size(); ++i) {
    const StoredTensor &a = restored.tensors()[i], &b = whole.tensors()[i];
    INFO(b.name);
    CHECK((a.name == b.name && a.type == b.type && a.shape == b.shape));
    CHECK(std::equal(a.data.begin(), a.data.end(), b.data.begin(), b.data.end()));
  }
}

// `difference` restores every file of `whole`.
void require_same_files(const std::string& difference, const std::string& whole) {
  const Chain chain(difference);
  int tensor_files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(whole)) {
    const std::string file = fs::relative(entry.path(), whole).string();
    if (!entry.is_regular_file() || file == "manifest.json") continue;
    INFO(difference << " " << file);
    if (entry.path().extension() == ".safetensors") {
      ++tensor_files;
      require_same_tensors(chain.tensors(file), SafetensorsFile::open(entry.path()));
    } else {
      const bool of_model = file.starts_with("model/");
      const std::string folder =
          of_model ? fs::path(chain.model_folder()).parent_path().string() : difference;
      CHECK(read_file(folder + "/" + file) == read_file(whole + "/" + file));
    }
  }
  CHECK(tensor_files >= 2);
}

struct Scenario {
  std::string name;
  std::function<void(Config&)> change;
};

const std::vector<Scenario> scenarios = {
    {"equal replicas", [](Config&) {}},
    {"sgd, no biases",
     [](Config& c) {
       c.optim.kind = "sgd";
       c.model.bias = false;
     }},
    {"replicas apart",
     [](Config& c) {
       c.sync.rule = "local_sgd";
       c.sync.period = 4;
     }},
    {"diloco",
     [](Config& c) {
       c.sync.rule = "diloco";
       c.sync.period = 4;
     }},
    {"own state at some steps",
     [](Config& c) {
       c.sync.rule = "accumulate";
       c.sync.period = 3;
     }},
    {"residuals", [](Config& c) { c.compress.codec = "int8"; }},
};

// Those of the steps 1 to 10 that stay.
std::set<int> kept_after(int last, int keep, int max_diffs) {
  const ScratchFolder scratch;
  Config config = base_diff_config(scratch.path, last, max_diffs);
  config.checkpoint.keep = keep;
  train(config, 1);
  for (const std::string& path : list_checkpoints(config.checkpoint.dir)) {
    INFO(path);
    CHECK_FALSE(find_fault(path).has_value());
  }
  return steps_in(config.checkpoint.dir);
}

}  // namespace

TEST_CASE("base_diff: restores every file a whole checkpoint would hold, bit for bit") {
  for (const Scenario& scenario : scenarios)
    for (const int ranks : {1, 2, 3}) {
      INFO(scenario.name << " at " << ranks << " ranks");
      const ScratchFolder scratch;
      Config config = base_diff_config(scratch.path, 8, 3);
      scenario.change(config);
      train(config, ranks);
      Config full = config;
      full.checkpoint.kind = "full";
      full.checkpoint.dir = scratch.path + "/full";
      train(full, ranks);
      for (int step = 1; step <= 8; ++step)
        require_same_files(step_folder(config, step), step_folder(full, step));
    }
}

TEST_CASE("base_diff: at most max_diffs continue a whole one, and they hold no model") {
  const ScratchFolder scratch;
  const Config config = base_diff_config(scratch.path, 9, 3);
  const Recording run = train(config, 2);
  for (int step = 1; step <= 9; ++step) {
    INFO("step " << step);
    const bool base = step % 4 == 1;
    CHECK(has_model(config, step) == base);
    CHECK(fs::exists(step_folder(config, step) + "/xor.rank-1") != base);
    CHECK(Chain(step_folder(config, step)).folders().size() ==
          static_cast<std::size_t>((step - 1) % 4) + 1);
  }
  std::vector<std::string> saved;
  for (const std::string& message : run.messages)
    if (message.starts_with("saved ")) saved.push_back(message);
  REQUIRE(saved.size() == 9);
  CHECK_THAT(saved[4], Catch::Contains("step-5 (") && Catch::EndsWith(" bytes, base)"));
  CHECK_THAT(saved[7], Catch::EndsWith(" bytes, difference 3 of at most 3)"));
  // The sizes told are those of the files; the manifest is not counted.
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(step_folder(config, 8)))
    if (entry.is_regular_file() && entry.path().filename() != "manifest.json")
      bytes += entry.file_size();
  CHECK_THAT(saved[7], Catch::Contains(fmt::format(", {} bytes,", bytes)));
}

TEST_CASE("base_diff: weights that did not change take nearly nothing") {
  const ScratchFolder scratch;
  Config config = base_diff_config(scratch.path, 2, 8);
  config.optim.lr = 0;
  train(config, 1);
  // One chunk of zeros is one or two blocks of zstd.
  CHECK(packed_bytes(step_folder(config, 2), model_tensors_file) < 100);
  CHECK(fs::file_size(step_folder(config, 1) + "/" + model_tensors_file) > 100000);
}

TEST_CASE("base_diff: what ranks have in common is stored once") {
  const ScratchFolder scratch;
  Config config = base_diff_config(scratch.path, 2, 8);
  // Each rank keeps a residual, and with all entries sent all of them are zero.
  config.compress.codec = "topk";
  config.compress.density = 1;
  train(config, 3);
  for (const int step : {1, 2})
    for (const int rank : {1, 2})
      CHECK(packed_bytes(step_folder(config, step), rank_folder(rank) + "/state.safetensors") <
            100);
  CHECK(fs::file_size(step_folder(config, 1) + "/rank-0/state.safetensors") > 400000);
  CHECK_FALSE(fs::exists(step_folder(config, 1) + "/rank-1/state.safetensors"));
}

TEST_CASE("base_diff: what a kept checkpoint builds on is kept, and nothing else") {
  // Whole ones are 1, 5 and 9.
  CHECK(kept_after(3, 1, 3) == std::set<int>{1, 2, 3});
  CHECK(kept_after(5, 1, 3) == std::set<int>{5});
  CHECK(kept_after(5, 2, 3) == std::set<int>{1, 2, 3, 4, 5});
  CHECK(kept_after(7, 2, 3) == std::set<int>{5, 6, 7});
  CHECK(kept_after(10, 1, 3) == std::set<int>{9, 10});
  CHECK(kept_after(10, 3, 3) == std::set<int>{5, 6, 7, 8, 9, 10});
}

TEST_CASE("base_diff: checkpoints set aside take along what they build on") {
  const ScratchFolder scratch;
  const Config config = base_diff_config(scratch.path, 6, 8);
  train(config, 1);
  const std::string aside = set_aside_later(config.checkpoint.dir, 3);
  CHECK(steps_in(config.checkpoint.dir) == std::set<int>{1, 2, 3});
  CHECK(steps_in(aside) == std::set<int>{1, 2, 3, 4, 5, 6});
  // Not twice on the disk.
  CHECK(fs::hard_link_count(aside + "/step-1/model/model.safetensors") == 2);
  for (const int step : {1, 2, 3}) fs::remove_all(step_folder(config, step));
  for (const int step : {4, 5, 6})
    CHECK_FALSE(find_fault(checkpoint_path(aside, step)).has_value());
}

TEST_CASE("base_diff: folders put in each other's place are no endless chain") {
  const ScratchFolder scratch;
  const Config config = base_diff_config(scratch.path, 4, 8);
  train(config, 1);
  fs::remove_all(step_folder(config, 2));
  fs::copy(step_folder(config, 3), step_folder(config, 2));  // says that it continues step 2
  CHECK(find_fault(step_folder(config, 2)).has_value());
  prune_checkpoints(config.checkpoint.dir, 1);
  CHECK(steps_in(config.checkpoint.dir) == std::set<int>{2, 3, 4});
  CHECK(steps_in(set_aside_later(config.checkpoint.dir, 3)) == std::set<int>{2, 3, 4});
}

TEST_CASE("base_diff: a run resumed in mid-chain ends as one that was never interrupted") {
  const ScratchFolder scratch;
  const std::string rule = GENERATE("every_step", "local_sgd", "accumulate");
  INFO(rule);
  Config config = base_diff_config(scratch.path, 10, 4);
  config.sync.rule = rule;
  config.sync.period = 4;
  if (rule == "every_step") {
    config.comm.reduction = "exact";
    config.batch.micro_batch = 1;
  }
  const Recording whole = train(config, 2);
  for (const int step : {3, 4, 6}) {
    INFO("from step " << step);
    Config again = config;
    again.checkpoint.dir = scratch.path + "/again" + std::to_string(step);
    const Recording rest = train(again, 2, step_folder(config, step));
    CHECK(rest.final_values == whole.final_values);
    CHECK(has_model(again, step + 1));  // a run begins with a whole one
    for (const std::string& file :
         {std::string(model_tensors_file),
          (rule == "every_step" ? "" : "rank-1/") + std::string(state_tensors)})
      require_same_tensors(Chain(step_folder(again, 10)).tensors(file),
                           Chain(step_folder(config, 10)).tensors(file));
  }
  // Another number of ranks: where replicas were equal, and nowhere else.
  Config wider = config;
  wider.checkpoint.dir = scratch.path + "/wider";
  const std::string middle = step_folder(config, 3);
  if (rule == "every_step")
    CHECK(train(wider, 3, middle).final_values == whole.final_values);
  else
    CHECK_THROWS_WITH(train(wider, 3, middle), Catch::Contains("resume with 2 ranks"));
}

TEST_CASE("base_diff: a chain that is gone from the disk is not continued") {
  struct Remover final : Observer {
    std::string folder;
    explicit Remover(std::string f) : folder(std::move(f)) {}
    void on_validation(std::int64_t, double) override {}
    void on_message(const std::string& text) override {
      if (text.starts_with("saved " + folder + "/step-3")) fs::remove_all(folder + "/step-2");
    }
  };
  const ScratchFolder scratch;
  const Config config = base_diff_config(scratch.path, 6, 8);
  train(config, 2, "", [&](Parts& parts) {
    if (parts.comm.rank() == 0)
      parts.observers.push_back(std::make_unique<Remover>(config.checkpoint.dir));
  });
  CHECK_FALSE(has_model(config, 3));
  CHECK(find_fault(step_folder(config, 3)).has_value());
  std::set<int> bases;
  for (int step = 4; step <= 6; ++step) {
    CHECK_FALSE(find_fault(step_folder(config, step)).has_value());
    if (has_model(config, step)) bases.insert(step);
  }
  CHECK(bases == std::set<int>{4});
}
