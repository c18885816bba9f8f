#include <catch2/catch.hpp>

#include "train/config.h"

using namespace skep;

TEST_CASE("settings that change nothing beside the others are told by name") {
  CHECK(find_idle_settings({}).empty());
  const auto told = [](const std::string& toml) {
    Config config;
    read_toml(config, toml, "a.toml");
    const std::vector<std::string> found = find_idle_settings(config);
    return found.empty() ? "" : found.size() > 1 ? "several" : found.front();
  };
  struct Case {
    std::string key, value, section, partner;
  };
  const std::vector<Case> cases = {{"temperature", "2", "loss", "view_weighting = \"adaptive\""},
                                   {"ema", "0.5", "loss", "view_weighting = \"adaptive\""},
                                   {"density", "0.1", "compress", "codec = \"topk\""},
                                   {"block", "128", "compress", "codec = \"topk_int4\""},
                                   {"error_feedback", "false", "compress", "codec = \"bf16\""},
                                   {"period", "3", "sync", "rule = \"local_sgd\""},
                                   {"outer_lr", "0.5", "sync", "rule = \"diloco\""},
                                   {"outer_momentum", "0.5", "sync", "rule = \"diloco\""},
                                   {"chaos_seed", "7", "data", "sharding = \"chaos\""},
                                   {"cycle_mult", "2", "schedule", "kind = \"step\""},
                                   {"max_diffs", "3", "checkpoint", "kind = \"base_diff\""}};
  for (const Case& c : cases) {
    const std::string set = "[" + c.section + "]\n" + c.key + " = " + c.value + "\n";
    CHECK(told(set).starts_with(c.section + "." + c.key + " has no effect without "));
    CHECK(told(set + c.partner).empty());
  }
  // A rule of one phase uses what belongs to it.
  CHECK(told("[sync]\nouter_lr = 0.5\n[[phase]]\nuntil_step = 4\n[[phase]]\nsync = \"diloco\"\n")
            .empty());
}
