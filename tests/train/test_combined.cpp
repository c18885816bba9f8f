// Everything that may be combined, combined: a run that is asked to stop after any of its steps,
// in mid-period and mid-phase too, and goes on from what it saved, ends with the bytes of the run
// that was never stopped.
#include <algorithm>
#include <catch2/catch.hpp>

#include "chain_fixture.h"
#include "combined_settings.h"
#include "restored.h"
#include "train/data/chaos_seed.h"

using namespace skep;
using namespace skep::test;

namespace {

struct Combination {
  Combination(const std::string& folder, const std::string& settings, int n) : ranks(n) {
    read_toml(config, settings, "settings.toml");
    config.data.train = folder + "/short.txt";
    write_file(config.data.train, synthetic_text(combined_text));
    config.run.dir = folder + "/run";
    config.checkpoint.dir = folder + "/whole";
  }
  int last() const { return static_cast<int>(config.run.steps); }
  Config config;
  int ranks;
};

/// What a run was like: its steps, and what its last checkpoint restores.
struct Course {
  std::vector<StepReport> steps;
  std::vector<std::string> messages;
  Restored end;
};

/// A process's life: from the checkpoint `saved`, made after step `from`, or from the beginning,
/// until the last rank is asked to stop after step `until`. What it saw is added to the course.
void live(Config config, int ranks, const std::string& saved, int from, int until, Course& course) {
  // As the program does: the first life draws a seed, the others take the checkpoint's.
  if (config.data.sharding == "chaos")
    config.data.chaos_seed = from > 0 ? saved_chaos_seed(saved) : 7;
  Recording recording;
  run_ranks(ranks, [&](Communicator& comm) {
    prepare_wires(config, comm);
    Parts parts = build_parts(config, comm);
    Limits limits = build_limits(config);
    std::int64_t step = from;
    const bool asked = comm.rank() == comm.size() - 1;
    limits.stop_signal = [&] { return ++step == until && asked ? 10 : 0; };
    Trainer trainer(parts, limits);
    if (from > 0) trainer.resume(saved);
    if (comm.rank() == 0)
      parts.observers.push_back(
          std::make_unique<Recorder>(recording.steps, recording.validations, recording.messages));
    check(trainer.run() == (until < config.run.steps ? RunEnd::stopped : RunEnd::finished),
          "the run ended otherwise");
  });
  std::move(recording.steps.begin(), recording.steps.end(), std::back_inserter(course.steps));
  course.messages = recording.messages;
}

Course run_whole(const Combination& run) {
  Course course;
  live(run.config, run.ranks, "", 0, run.last(), course);
  course.end = restored(step_folder(run.config, run.last()));
  return course;
}

/// All of a report that is a function of the state, to the bit.
std::string state_in(const StepReport& r) {
  std::string text =
      fmt::format("{}: epoch {:a} loss {:a} lr {:a} norm {:a} tokens {} updates {} {} {} {:a} {}",
                  r.step, r.epoch, r.loss, r.lr, r.grad_norm, r.tokens, r.updates, r.topology,
                  r.sync, r.scale, r.skipped);
  for (const TaskReport& task : r.tasks)
    text += fmt::format(" {} {:a} {:a} {:a}", task.name, task.loss, task.weight,
                        task.log_variance.value_or(0));
  return text;
}

std::vector<std::string> states_in(const Course& course) {
  std::vector<std::string> states;
  for (const StepReport& step : course.steps) states.push_back(state_in(step));
  return states;
}

void require_same_end(const Course& part, const Combination& run, const Config& config,
                      const Course& whole) {
  const std::vector<std::string> states = states_in(part), all = states_in(whole);
  CHECK(states == std::vector<std::string>(all.end() - std::ssize(states), all.end()));
  CHECK(differences(restored(step_folder(config, run.last())), whole.end) ==
        std::set<std::string>{});
}

/// From each of the checkpoints that the whole run left on its way, among them links of all lengths
/// of chain, to the end.
void require_same_from_everywhere(const Combination& run, const Course& whole) {
  for (int step = 1; step < run.last(); ++step) {
    INFO("from step " << step);
    Config config = run.config;
    config.checkpoint.dir = fmt::format("{}-from-{}", run.config.checkpoint.dir, step);
    config.checkpoint.every = 0;
    Course rest;
    live(config, run.ranks, step_folder(run.config, step), step, run.last(), rest);
    REQUIRE(std::ssize(rest.steps) == run.last() - step);
    require_same_end(rest, run, config, whole);
  }
}

/// A run that is asked to stop after each of its steps, and goes on: what it saves then is what the
/// whole run had there.
void require_same_in_pieces(const Combination& run, const Course& whole) {
  Config config = run.config;
  config.checkpoint.dir += "-in-pieces";
  config.checkpoint.every = 0;
  const auto cycle = static_cast<int>(config.schedule.cycle);
  Course pieces;
  for (int step = 1; step <= run.last(); ++step) {
    live(config, run.ranks, step_folder(config, step - 1), step - 1, step, pieces);
    INFO("stopped after step " << step);
    std::set<std::string> names =
        differences(restored(step_folder(config, step)), restored(step_folder(run.config, step)));
    // One that is stopped where a cycle ends leaves that to the next, see trainer_cycles.cpp.
    if (cycle > 0 && step % cycle == 0)
      std::erase_if(names, [](const std::string& name) { return name.ends_with(" cycle_end"); });
    CHECK(names == std::set<std::string>{});
  }
  require_same_end(pieces, run, config, whole);
}

template <class Field>
std::vector<Field> column(const Course& course, Field StepReport::*field) {
  std::vector<Field> values;
  for (const StepReport& step : course.steps) values.push_back(step.*field);
  return values;
}

std::int64_t count_names(const Course& course, const std::string& part) {
  return std::count_if(course.end.begin(), course.end.end(), [&](const auto& entry) {
    return entry.first.find(part) != entry.first.npos;
  });
}

}  // namespace

TEST_CASE("all tricks at once: stopping after any step changes nothing", "[combined]") {
  const ScratchFolder scratch;
  Combination run(scratch.path, all_tricks, 2);
  // The weights of the views come from past steps, or from this one and the past.
  run.config.batch.micro_batch = GENERATE(2, 0);
  run.config.precision.compute = run.config.batch.micro_batch == 0 ? "fp16" : "fp32";
  run.config.precision.growth_interval = 2;
  INFO("micro-batches of " << run.config.batch.micro_batch);
  const Course whole = run_whole(run);
  // All of them do something.
  CHECK(column(whole, &StepReport::updates) ==
        std::vector<std::int64_t>{0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3});
  CHECK(whole.steps.back().epoch == Approx(14 * 12 / 82.0));
  std::set<double> highest;
  for (const std::size_t begin : {0, 5, 10}) highest.insert(whole.steps[begin].lr);
  CHECK(highest.size() == 3);
  for (const char* field : {"residual_sent", "residual_summed", "partial_gradients", "view_losses",
                            "gathered_loss", "chaos_seed", "log_variances", "first_moment"}) {
    INFO(field);
    CHECK(count_names(whole, field) == 2);  // of each rank
  }
  for (const char* field : {"residual_sent", "residual_summed", "partial_gradients"})
    CHECK(whole.end.at(fmt::format("rank-0/state.safetensors {}", field)) !=
          whole.end.at(fmt::format("rank-1/state.safetensors {}", field)));
  CHECK(Chain(step_folder(run.config, 7)).folders().size() == 3);
  require_same_from_everywhere(run, whole);
  require_same_in_pieces(run, whole);
}

TEST_CASE("phases of all kinds: stopping after any step changes nothing", "[combined]") {
  const ScratchFolder scratch;
  const Combination run(scratch.path, all_phases, 4);
  const Course whole = run_whole(run);
  std::vector<std::string> wires, rules;
  const auto phase = [&](std::size_t steps, const char* topology, const char* rule) {
    wires.insert(wires.end(), steps, topology);
    rules.insert(rules.end(), steps, rule);
  };
  phase(2, "full_mesh", "every_step");
  phase(4, "random_clusters", "local_sgd");
  phase(3, "halving_doubling", "local_sgd");
  phase(1, "tree", "every_step");
  phase(4, "ring", "diloco");
  phase(2, "random_clusters", "local_sgd");
  CHECK(column(whole, &StepReport::topology) == wires);
  CHECK(column(whole, &StepReport::sync) == rules);
  CHECK(std::count_if(whole.messages.begin(), whole.messages.end(), [](const std::string& text) {
          return text.find("the ranks are one again") != text.npos;
        }) == 1);
  // At the end ranks are apart, each with moments of its own, told as differences from rank 0.
  CHECK(count_names(whole, "weights") == run.ranks);
  for (const char* field : {"weights", "first_moment", "second_moment"})
    CHECK(whole.end.at(fmt::format("rank-0/state.safetensors {}", field)) !=
          whole.end.at(fmt::format("rank-{}/state.safetensors {}", run.ranks - 1, field)));
  CHECK(read_restore_plan(step_folder(run.config, 16)).packed.count("rank-1/state.safetensors"));
  require_same_from_everywhere(run, whole);
  require_same_in_pieces(run, whole);
}
