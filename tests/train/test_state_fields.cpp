// Every field of every archive() counts: a checkpoint in which one field has the value it has
// before the first step (as if it were not restored) is refused, or the run that continues from it
// differs from the one that was never interrupted. Fields that only identify the run must be
// refused when they differ.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "model/hf/safetensors.h"
#include "train/checkpoint/manifest.h"
#include "train/hash.h"
#include "trainer_fixture.h"

using namespace skep;
using namespace skep::test;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr int ranks = 2;

// A state that is not trivial: dropout, several micro-batches, the second epoch (of 169 windows).
Config base(const std::string& folder) {
  Config config = small_config(folder);
  config.run.steps = 20;
  config.batch.micro_batch = 2;
  config.model.dropout = 0.1;
  config.checkpoint.keep = 100;
  return config;
}

struct Scenario {
  std::string name;
  int step;  // of the checkpoint
  std::function<void(Config&)> change;
};

const std::vector<Scenario> scenarios = {
    {"adamw in the second epoch", 16, [](Config&) {}},
    {"sgd", 16, [](Config& c) { c.optim.kind = "sgd"; }},
    {"a loss scale after overflows", 16,
     [](Config& c) {
       c.precision.compute = "fp16";
       c.precision.growth_interval = 3;
     }},
    {"int8 residuals", 16, [](Config& c) { c.compress.codec = "int8"; }},
    {"topk residuals", 16, [](Config& c) { c.compress.codec = "topk"; }},
    {"replicas apart", 17,
     [](Config& c) {
       c.sync.rule = "local_sgd";
       c.sync.period = 4;
     }},
    {"diloco in mid-period", 14,
     [](Config& c) {
       c.sync.rule = "diloco";
       c.sync.period = 4;
     }},
    {"accumulate in mid-period", 18,
     [](Config& c) {
       c.sync.rule = "accumulate";
       c.sync.period = 4;
     }},
    {"exact sums in mid-period", 18,
     [](Config& c) {
       c.sync.rule = "accumulate";
       c.sync.period = 4;
       c.comm.reduction = "exact";
     }},
    {"views with a memory", 16,
     [](Config& c) {
       c.loss.view_weighting = "adaptive";
       c.loss.ema = 0.5;
     }},
};

std::vector<std::string> state_folders(const std::string& checkpoint) {
  if (fs::exists(checkpoint + "/state.json")) return {checkpoint};
  std::vector<std::string> folders;
  for (int rank = 0; rank < ranks; ++rank)
    folders.push_back(checkpoint + "/rank-" + std::to_string(rank));
  return folders;
}

Json numbers_of(const std::string& folder) {
  return Json::parse(read_file(folder + "/state.json"));
}

void sign_again(const std::string& checkpoint, int step) {
  fs::remove(checkpoint + "/manifest.json");
  WrittenFiles files;
  for (const auto& entry : fs::recursive_directory_iterator(checkpoint)) {
    if (!entry.is_regular_file()) continue;
    const MappedFile file(entry.path().string());
    files.parts.push_back({fs::relative(entry.path(), checkpoint).string(), 0, file.bytes().size(),
                           hash_bytes(file.bytes())});
  }
  write_manifest(checkpoint, step, files);
}

struct Field {
  std::string name;
  enum class Kind { number, tensor } kind;
};

std::vector<Field> fields_of(const std::string& checkpoint) {
  const std::string folder = state_folders(checkpoint).front();
  std::vector<Field> fields;
  const Json numbers = numbers_of(folder);
  for (const auto& [name, value] : numbers.items()) fields.push_back({name, Field::Kind::number});
  const auto file = SafetensorsFile::open(folder + "/state.safetensors");
  for (const StoredTensor& t : file.tensors()) fields.push_back({t.name, Field::Kind::tensor});
  return fields;
}

// Gives the field of every rank its value in `donor`, or 0 where the donor has no such field.
void transplant(const Field& field, const std::string& donor, const std::string& checkpoint) {
  const auto from = state_folders(donor), into = state_folders(checkpoint);
  for (std::size_t i = 0; i < into.size(); ++i) {
    const std::string& source = from[std::min(i, from.size() - 1)];
    if (field.kind == Field::Kind::number) {
      Json numbers = numbers_of(into[i]);
      const Json first = numbers_of(source);
      numbers.at(field.name) = first.value(field.name, Json(0));
      write_file(into[i] + "/state.json", numbers.dump());
    } else {
      const auto own = SafetensorsFile::open(into[i] + "/state.safetensors");
      const auto other = SafetensorsFile::open(source + "/state.safetensors");
      std::vector<StoredTensor> tensors = own.tensors();
      std::vector<std::byte> zero;
      for (StoredTensor& t : tensors) {
        if (t.name != field.name) continue;
        zero.resize(t.data.size());
        const StoredTensor* first = other.find(t.name);
        t.data = first ? first->data : std::span<const std::byte>(zero);
      }
      write_safetensors(into[i] + "/state.safetensors", tensors);
    }
  }
}

void change_number(const std::string& checkpoint, const std::string& name,
                   const std::function<Json(const Json&)>& change) {
  for (const std::string& folder : state_folders(checkpoint)) {
    Json numbers = numbers_of(folder);
    numbers.at(name) = change(numbers.at(name));
    write_file(folder + "/state.json", numbers.dump());
  }
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same_end(const Recording& rest, const Recording& whole) {
  if (rest.final_values != whole.final_values || rest.steps.size() > whole.steps.size())
    return false;
  const std::size_t skipped = whole.steps.size() - rest.steps.size();
  for (std::size_t i = 0; i < rest.steps.size(); ++i) {
    const StepReport &a = rest.steps[i], &b = whole.steps[i + skipped];
    if (a.step != b.step || a.loss != b.loss || a.tokens != b.tokens || a.updates != b.updates ||
        a.scale != b.scale || !same_number(a.grad_norm, b.grad_norm) || a.epoch != b.epoch ||
        a.lr != b.lr || a.skipped != b.skipped)
      return false;
  }
  return true;
}

// One scenario's uninterrupted run, and copies of its checkpoint to be spoilt.
struct Interrupted {
  Interrupted(const Scenario& s, const std::string& folder)
      : scenario(s), config(base(folder)), copy(folder + "/copy") {
    scenario.change(config);
    Config none = config;
    none.run.steps = 0;
    none.checkpoint.dir = folder + "/fresh";
    train(none, ranks);
    fresh = none.checkpoint.dir + "/step-0";
    config.checkpoint.every = scenario.step;
    config.checkpoint.dir = folder + "/ckpt";
    whole = train(config, ranks);
    saved = config.checkpoint.dir + "/step-" + std::to_string(scenario.step);
    config.checkpoint.dir = folder + "/again";
    config.checkpoint.every = 0;
  }
  void renew() const {
    fs::remove_all(copy);
    fs::copy(saved, copy, fs::copy_options::recursive);
  }
  // How the run from the spoilt copy ends.
  enum class End { same, elsewhere, refused };
  End go_on() const {
    sign_again(copy, scenario.step);
    try {
      return same_end(train(config, ranks, copy), whole) ? End::same : End::elsewhere;
    } catch (const Error&) {
      return End::refused;
    }
  }
  bool noticed() const { return go_on() != End::same; }

  Scenario scenario;
  Config config;
  std::string fresh, saved, copy;
  Recording whole;
};

// What is 0 or harmless in a healthy run; raised, the update is skipped, or the run ends with an
// error.
struct Alarm {
  Json value;
  Interrupted::End end;
};
const std::map<std::string, Alarm> alarms = {
    {"gathered_loss", {"inf", Interrupted::End::elsewhere}},
    {"not_finite", {1.0, Interrupted::End::elsewhere}},
    {"out_of_range", {1.0, Interrupted::End::refused}}};

const std::set<std::string> identity = {"seed", "epoch_samples", "tokenizer_hash", "data_hash"};

}  // namespace

TEST_CASE("no field of a checkpoint can be left out") {
  std::map<std::string, bool> counts;
  for (const Scenario& scenario : scenarios) {
    INFO(scenario.name);
    const ScratchFolder scratch;
    const Interrupted run(scenario, scratch.path);
    run.renew();
    REQUIRE_FALSE(run.noticed());  // with all fields, nothing differs
    for (const Field& field : fields_of(run.saved)) {
      bool& counted = counts[field.name];
      if (counted) continue;
      run.renew();
      transplant(field, run.fresh, run.copy);
      counted = run.noticed();
      if (!counted && identity.count(field.name)) {
        run.renew();
        change_number(run.copy, field.name,
                      [](const Json& value) { return Json(value.get<std::int64_t>() ^ 1); });
        counted = run.noticed();
      }
      if (!counted && alarms.count(field.name)) {
        run.renew();
        change_number(run.copy, field.name,
                      [&](const Json&) { return alarms.at(field.name).value; });
        counted = run.go_on() == alarms.at(field.name).end;
      }
    }
  }
  std::set<std::string> idle;
  for (const auto& [name, counted] : counts)
    if (!counted) idle.insert(name);
  CHECK(idle == std::set<std::string>{"witness_machine"});  // says how exact, see below
  for (const char* name : {"loss_scale", "clean_updates", "first_moment", "velocity", "weights",
                           "outer_start", "partial_sums", "view_losses"})
    CHECK(counts.count(name));
}

TEST_CASE("a witness that differs ends the run with the storage code; elsewhere it may a little") {
  const ScratchFolder scratch;
  const Interrupted run({"plain", 4, [](Config& c) { c.run.steps = 5; }}, scratch.path);
  const auto resume = [&](double factor, std::int64_t machine) {
    run.renew();
    change_number(run.copy, "witness_loss",
                  [&](const Json& loss) { return Json(loss.get<double>() * factor); });
    change_number(run.copy, "witness_machine",
                  [&](const Json& m) { return Json(m.get<std::int64_t>() ^ machine); });
    sign_again(run.copy, 4);
    try {
      train(run.config, ranks, run.copy);
      return 0;
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Catch::Contains("what was read is not what was saved"));
      return error.exit_code();
    }
  };
  CHECK(resume(1, 0) == 0);
  CHECK(resume(1 + 1e-6, 0) == 5);
  CHECK(resume(1, 1) == 0);
  CHECK(resume(1 + 5e-5, 1) == 0);
  CHECK(resume(1 + 2e-4, 1) == 5);
}
