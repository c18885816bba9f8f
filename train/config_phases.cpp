#include "train/config_phases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/core/error.h"
#include "train/config_table.h"

namespace skep {
namespace {

/// What a phase may change, and the key it stands for.
const std::vector<std::pair<std::string, std::string>>& phase_keys() {
  static const std::vector<std::pair<std::string, std::string>> keys = {
      {"topology", "comm.topology"},
      {"cluster_size", "comm.cluster_size"},
      {"sync", "sync.rule"},
      {"period", "sync.period"}};
  return keys;
}

std::string known_names() {
  std::vector<std::string> names{"until_epoch", "until_step"};
  for (const auto& [name, key] : phase_keys()) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

double positive_number(const toml::node& node, const std::string& what) {
  const std::optional<double> number = node.value<double>();
  if (!number || !(*number > 0) || *number > 1e15)
    fail(ErrorKind::usage, "{} must be a number greater than 0", what);
  return *number;
}

std::int64_t positive_integer(const toml::node& node, const std::string& what) {
  const auto* number = node.as_integer();
  if (number == nullptr || number->get() <= 0)
    fail(ErrorKind::usage, "{} must be an integer greater than 0", what);
  return number->get();
}

void read_setting(PhaseEntry& phase, const std::string& name, const toml::node& node) {
  const auto& keys = phase_keys();
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const auto& key) { return key.first == name; });
  if (found == keys.end())
    fail(ErrorKind::usage, "unknown key {} of a [[phase]]; it has {}", name, known_names());
  const std::optional<ConfigValue> value = scalar(node);
  const ConfigKey& key = *find_config_key(found->second);
  if (!value) fail(ErrorKind::usage, "{} must be {}", name, describe_wanted(key));
  Config scratch;
  set_config_key(scratch, key, *value, toml_literal(*value));
  phase.settings.emplace_back(key.full_name(), key.get(scratch));
}

PhaseEntry read_phase(const toml::table& table, const std::string& file_name) {
  PhaseEntry phase;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    try {
      if (name == "until_epoch")
        phase.until_epoch = positive_number(node, name);
      else if (name == "until_step")
        phase.until_step = positive_integer(node, name);
      else
        read_setting(phase, name, node);
    } catch (const Error& error) {
      fail(ErrorKind::usage, "{}:{}: {}", file_name, key.source().begin.line, error.what());
    }
  }
  return phase;
}

}  // namespace

std::vector<PhaseEntry> read_phases(const toml::node& tables, const std::string& file_name) {
  if (!tables.is_array_of_tables())
    fail(ErrorKind::usage, "{}:{}: a phase begins with [[phase]], in double brackets", file_name,
         tables.source().begin.line);
  std::vector<PhaseEntry> phases;
  for (const toml::node& node : *tables.as_array()) {
    const std::string where = fmt::format("{}:{}", file_name, node.source().begin.line);
    const toml::table* table = node.as_table();
    if (!phases.empty() && phases.back().until_epoch == 0 && phases.back().until_step == 0)
      fail(ErrorKind::usage,
           "{}: the phase before this one has no until_epoch or until_step, so it never ends",
           where);
    phases.push_back(read_phase(*table, file_name));
    if (phases.back().until_epoch > 0 && phases.back().until_step > 0)
      fail(ErrorKind::usage, "{}: a phase lasts until_epoch or until_step, not both", where);
  }
  return phases;
}

std::string print_phases(const std::vector<PhaseEntry>& phases) {
  std::string text;
  for (const PhaseEntry& phase : phases) {
    text += "\n[[phase]]\n";
    if (phase.until_epoch > 0)
      text += fmt::format("until_epoch = {}\n", toml_literal(phase.until_epoch));
    if (phase.until_step > 0) text += fmt::format("until_step = {}\n", phase.until_step);
    for (const auto& [full_name, value] : phase.settings)
      for (const auto& [name, key] : phase_keys())
        if (key == full_name) text += fmt::format("{} = {}\n", name, toml_literal(value));
  }
  return text;
}

Config during_phase(const Config& config, const PhaseEntry& phase) {
  Config changed = config;
  changed.phases.clear();
  for (const auto& [name, value] : phase.settings) find_config_key(name)->put(changed, value);
  return changed;
}

}  // namespace skep
