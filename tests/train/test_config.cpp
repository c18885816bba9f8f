#include <rapidcheck.h>

#include <rapidcheck/catch.h>
#include <cmath>
#include <map>

#include "tests/train/helpers.h"
#include "train/config.h"
#include "train/config_table.h"
#include "train/data/utf8.h"

using namespace skep;
using Catch::Contains;

namespace {

ParsedCommand parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "train");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

std::string usage_error(const std::vector<std::string>& arguments) {
  return error_of(ErrorKind::usage, [&] { parse(arguments); });
}

std::string toml_error(const std::string& text) {
  return error_of(ErrorKind::usage, [&] {
    Config config;
    read_toml(config, text, "config.toml");
  });
}

/// Every key of a config as text, to compare two of them.
std::map<std::string, std::string> all_values(const Config& config) {
  std::map<std::string, std::string> values;
  for (const ConfigKey& key : config_keys())
    values[key.full_name()] = toml_literal(key.get(config));
  return values;
}

}  // namespace

TEST_CASE("config: the keys of the contract exist, and no others") {
  std::string sections, last;
  for (const ConfigKey& key : config_keys()) {
    if (key.section != last) sections += "\n" + key.section + ":";
    last = key.section;
    sections += " " + key.name;
  }
  CHECK(sections == R"(
run: dir name seed steps log_every eval_every eval_batches resume progress threads
model: arch layers heads width context vocab dropout bias tied recompute
data: train val val_fraction tokenizer sharding common_fraction chaos_seed drop_last workers prefetch
batch: global_batch micro_batch
optim: kind lr min_lr beta1 beta2 eps weight_decay max_norm
schedule: kind warmup decay_steps cycle cycle_mult unit jitter restart_from
precision: compute loss_scale growth_interval min_scale
device: kind share cuda_aware_mpi
comm: topology transport cluster_size reduction exact_scale wire bucket_mb overlap hash_every check timeout
sync: rule period outer_lr outer_momentum
compress: codec density block error_feedback
loss: view_weighting temperature ema task_weighting z_weight
ddp: find_unused_parameters broadcast_buffers
checkpoint: every keep kind max_diffs dir
observe: csv tensorboard pipe)");
}

TEST_CASE("config: every default passes its own rule") {
  const Config defaults;
  for (const ConfigKey& key : config_keys()) {
    INFO(key.full_name());
    CHECK(key.rule.allows(key.get(defaults)));
    CHECK_FALSE(key.help.empty());
  }
}

TEST_CASE("config: default < file < command line") {
  const TemporaryFolder folder;
  const std::string file =
      folder.file("c.toml", "[optim]\nlr = 0.5\nbeta1 = 0.25\n[run]\nsteps = 7\n");
  const Config config = parse({"--optim.lr", "0.125", "--config", file, "--run.name=x"}).config;
  CHECK(config.optim.lr == 0.125);
  CHECK(config.optim.beta1 == 0.25);
  CHECK(config.run.steps == 7);
  CHECK(config.run.name == "x");
  CHECK(config.optim.beta2 == Config{}.optim.beta2);
}

TEST_CASE("config: values of every type, in both spellings") {
  const Config config =
      parse({"--optim.lr", "1e-3", "--optim.min_lr=1e-4", "--optim.max_norm", "inf", "--model.bias",
             "false", "--model.layers=12", "--data.train", "a b.txt", "--data.val=[x]",
             "--optim.weight_decay", "1", "--comm.topology", "full_mesh"})
          .config;
  CHECK(config.optim.lr == 1e-3);
  CHECK(config.optim.min_lr == 1e-4);
  CHECK(std::isinf(config.optim.max_norm));
  CHECK(config.model.bias == false);
  CHECK(config.model.layers == 12);
  CHECK(config.data.train == "a b.txt");
  CHECK(config.data.val == "[x]");
  CHECK(config.optim.weight_decay == 1.0);
  CHECK(config.comm.topology == "full_mesh");
}

TEST_CASE("config: the last of repeated flags wins, a second file is refused") {
  CHECK(parse({"--run.steps", "1", "--run.steps=2", "--run.steps", "3"}).config.run.steps == 3);
  CHECK(usage_error({"--config", "a", "--config", "b"}) ==
        "--config is given 2 times; name one file");
}

TEST_CASE("config: errors on the command line") {
  const auto [arguments, message] = GENERATE(table<std::vector<std::string>, std::string>({
      {{"--optim.rl", "1"}, "unknown option --optim.rl; did you mean --optim.lr?"},
      {{"--optim.rl=1"}, "unknown option --optim.rl; did you mean --optim.lr?"},
      {{"--lr", "1"}, "unknown option --lr; did you mean --optim.lr?"},
      {{"--schedule.peak", "1"},
       "unknown option --schedule.peak; [schedule] has kind, warmup, decay_steps, "
       "cycle, cycle_mult, unit, jitter, restart_from"},
      {{"--quux", "1"}, "unknown option --quux; `train --help` lists what there is"},
      {{"-np", "4"}, "-np is an option of mpirun: write `mpirun -np N train …`"},
      {{"--run.lr", "1"}, "unknown option --run.lr; did you mean --optim.lr?"},
      {{"--global-batch", "8"},
       "unknown option --global-batch; did you mean --batch.global_batch?"},
      {{"input.txt"}, "unexpected argument input.txt; settings are written --SECTION.KEY VALUE"},
      {{"--config", "a", "stray"},
       "unexpected argument stray; settings are written --SECTION.KEY VALUE"},
      {{"--optim.lr", "fast"}, "optim.lr must be a number, got \"fast\""},
      {{"--optim.lr", "1x"}, "optim.lr must be a number, got \"1x\""},
      {{"--optim.lr", ""}, "optim.lr must be a number, got \"\""},
      {{"--optim.lr", "-1"}, "optim.lr must be a number, at least 0, got -1"},
      {{"--optim.lr", "nan"}, "optim.lr must be a number, at least 0, got nan"},
      {{"--optim.lr", "inf"}, "optim.lr must be a number, at least 0, got inf"},
      {{"--optim.max_norm", "-1"},
       "optim.max_norm must be a number, greater than 0 or inf, got -1"},
      {{"--optim.max_norm", "nan"},
       "optim.max_norm must be a number, greater than 0 or inf, got nan"},
      {{"--optim.max_norm", "0"}, "optim.max_norm must be a number, greater than 0 or inf, got 0"},
      {{"--model.layers", "0"}, "model.layers must be an integer, from 1 to 2147483647, got 0"},
      {{"--model.layers", "1.5"}, "model.layers must be an integer, got \"1.5\""},
      {{"--batch.micro_batch", "9223372036854775807"},
       "batch.micro_batch must be an integer, from 0 to 2147483647, got 9223372036854775807"},
      {{"--run.seed", "99999999999999999999"},
       "run.seed must be an integer, at least 0, and 99999999999999999999 does not fit into 64 "
       "bits"},
      {{"--run.steps", "-99999999999999999999"},
       "run.steps must be an integer, at least 0, and -99999999999999999999 does not fit into 64 "
       "bits"},
      {{"--run.steps", "99999999999999999999x"},
       "run.steps must be an integer, got \"99999999999999999999x\""},
      {{"--optim.lr", "1e999"},
       "optim.lr must be a number, at least 0, and 1e999 does not fit into 64 bits"},
      {{"--model.dropout", "1"}, "model.dropout must be a number, from 0 to less than 1, got 1"},
      {{"--model.bias", "yes"}, "model.bias must be true or false, got \"yes\""},
      {{"--optim.kind", "adam"}, "optim.kind must be one of adamw, sgd, got \"adam\""},
      {{"--comm.topology", ""},
       "comm.topology must be one of exponential, full_mesh, grid, halving_doubling, hierarchical, "
       "random_clusters, ring, "
       "tree, auto, got \"\""},
      {{"--run.name", ""}, "run.name must be a text, a name without /, got \"\""},
      {{"--run.name="}, "--run.name needs a value; see --help"},
      {{"--run.name"}, "--run.name needs a value; see --help"},
      {{"--data.train", "a\nb"}, "data.train must be UTF-8 without control characters"},
      {{"--data.train", "\xff"}, "data.train must be UTF-8 without control characters"},
      {{"--data.train", "--run.seed", "3"},
       "--data.train needs a value, got the option --run.seed"},
      {{"--config", "/nope.toml"}, "--config: cannot read /nope.toml: No such file or directory"},
  }));
  CHECK(usage_error(arguments) == message);
}

TEST_CASE("config: errors in a file carry its line") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"[run]\nsteps = 3\n\n[optim]\nlr = \"fast\"\n",
       "config.toml:5: optim.lr must be a number, got \"fast\""},
      {"[optim]\nrl = 1\n", "config.toml:2: unknown key optim.rl; did you mean optim.lr?"},
      {"[optm]\nlr = 1\n", "config.toml:2: unknown key optm.lr; did you mean optim.lr?"},
      {"\n[optm]\n", "config.toml:2: unknown section [optm]; did you mean [optim]?"},
      {"\n[hyperparameters]\n",
       "config.toml:2: unknown section [hyperparameters]; `train --help` lists what there is"},
      {"lr = 1\n", "config.toml:1: key lr stands outside a [section]; did you mean optim.lr?"},
      {"[optim]\nlr = -0.5\n", "config.toml:2: optim.lr must be a number, at least 0, got -0.5"},
      {"[optim]\nmax_norm = -1\n",
       "config.toml:2: optim.max_norm must be a number, greater than 0 or inf, got -1"},
      {"[model]\nlayers = 4.0\n", "config.toml:2: model.layers must be an integer, got 4.0"},
      {"[model]\nbias = 1\n", "config.toml:2: model.bias must be true or false, got 1"},
      {"[run]\nname = true\n", "config.toml:2: run.name must be a text, got true"},
      {"[run]\nname = \"a\\u0000b\"\n",
       "config.toml:2: run.name must be UTF-8 without control characters"},
      {"[optim]\nlr = [1]\n",
       "config.toml:2: optim.lr must be a number, at least 0, got a TOML array"},
      {"[optim.lr]\nx = 1\n",
       "config.toml:1: optim.lr must be a number, at least 0, got a TOML table"},
      {"[optim]\nlr = 1979-05-27\n",
       "config.toml:2: optim.lr must be a number, at least 0, got a TOML date"},
      // The first error of the file, not of the alphabet.
      {"[run]\nstepz = 1\n[batch]\nx = 1\n",
       "config.toml:2: unknown key run.stepz; did you mean run.steps?"},
  }));
  CHECK(toml_error(text) == message);
}

TEST_CASE("config: broken TOML names file and line") {
  CHECK_THAT(toml_error("[run]\nsteps = \n"),
             Contains("config.toml:") && Contains("not valid TOML"));
  CHECK_THAT(toml_error("[run]\nsteps = 1\nsteps = 2\n"),
             Contains("config.toml:3: not valid TOML"));
  CHECK_THAT(toml_error("\xff\xfe"), Contains("config.toml:1: not valid TOML"));
}

TEST_CASE("config: an integer is fine where a number is wanted") {
  Config config;
  read_toml(config, "[optim]\nlr = 2\nmax_norm = inf\n", "c");
  CHECK(config.optim.lr == 2.0);
  CHECK(std::isinf(config.optim.max_norm));
}

TEST_CASE("config: help shows every key with its default, and wins over errors") {
  const ParsedCommand command = parse({"--help", "--nonsense"});
  CHECK(command.action == Action::help);
  for (const ConfigKey& key : config_keys())
    CHECK_THAT(command.text, Contains("--" + key.full_name()));
  CHECK_THAT(command.text, Contains("default 1337") && Contains("one of constant"));
  CHECK(parse({"--version"}).action == Action::version);
  CHECK(parse({"--print-completion"}).action == Action::print_completion);
  CHECK(parse({}).action == Action::train);
}

TEST_CASE("config: print_config is commented TOML of the effective values") {
  const ParsedCommand command = parse({"--print-config", "--optim.lr", "0.25"});
  CHECK(command.action == Action::print_config);
  CHECK_THAT(command.text, Contains("[optim]\n") && Contains("\nlr = 0.25\n") &&
                               Contains("# seed of weights, dropout and data order"));
}

TEST_CASE("config: what print_config prints reads back as the same config") {
  const auto any_text = [] {
    std::string text;
    for (const auto point : *rc::gen::container<std::vector<std::uint32_t>>(
             rc::gen::oneOf(rc::gen::inRange(0x20u, 0x7Fu), rc::gen::inRange(0xA0u, 0xD800u),
                            rc::gen::inRange(0xE000u, 0x110000u))))
      append_utf8(text, point);
    return text;
  };
  rc::prop("print and read", [&] {
    Config config;
    for (const ConfigKey& key : config_keys()) {
      ConfigValue value = key.get(config);
      if (std::holds_alternative<std::int64_t>(value)) value = *rc::gen::arbitrary<std::int64_t>();
      if (std::holds_alternative<double>(value)) value = *rc::gen::arbitrary<double>();
      if (std::holds_alternative<bool>(value)) value = *rc::gen::arbitrary<bool>();
      if (std::holds_alternative<std::string>(value)) value = any_text();
      if (key.rule.allows(value)) key.put(config, value);
    }
    Config read;
    read_toml(read, print_config(config), "printed");
    RC_ASSERT(all_values(read) == all_values(config));
    RC_ASSERT(read.optim.lr == config.optim.lr);  // bit for bit, not only as printed
    RC_ASSERT(read.run.name == config.run.name);
  });
}

TEST_CASE("config: garbage never crashes the parser") {
  rc::prop("random bytes", [](const std::string& text) {
    Config config;
    try {
      read_toml(config, text, "fuzz");
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::usage);
      RC_ASSERT(std::string(error.what()).find('\n') == std::string::npos);
    }
  });
}

TEST_CASE("config: defaults that follow from other keys") {
  Config config;
  CHECK(run_directory(config) == "runs/run");
  CHECK(checkpoint_directory(config) == "runs/run/ckpt");
  CHECK(decay_steps(config) == 1000);
  config.run.dir = "out";
  config.schedule.decay_steps = 5;
  CHECK(checkpoint_directory(config) == "out/ckpt");
  CHECK(decay_steps(config) == 5);
  config.checkpoint.dir = "/ckpts";
  CHECK(checkpoint_directory(config) == "/ckpts");
}
