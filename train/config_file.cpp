// Configuration as TOML: reading with line numbers in every error, and printing with comments.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "engine/core/error.h"
#include "train/config_phases.h"
#include "train/config_table.h"

namespace skep {
namespace {

/// One line of the file. A top-level name that is no section with keys has an empty `key`.
struct Entry {
  std::uint32_t line;
  std::string section;
  std::string key;
  const toml::node* node;
};

/// toml++ sorts names; people want the first error of their file.
std::vector<Entry> entries_in_file_order(const toml::table& root) {
  std::vector<Entry> entries;
  for (const auto& [name, node] : root) {
    const std::string section(name.str());
    const toml::table* keys = node.as_table();
    if (section == "phase") continue;  // read_phases
    if (keys == nullptr || keys->empty())
      entries.push_back({name.source().begin.line, section, "", &node});
    else
      for (const auto& [key, value] : *keys)
        entries.push_back({key.source().begin.line, section, std::string(key.str()), &value});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.line < b.line; });
  return entries;
}

bool is_section(const std::string& name) {
  const auto& keys = config_keys();
  return std::any_of(keys.begin(), keys.end(),
                     [&](const ConfigKey& key) { return key.section == name; });
}

/// Refuses a top-level name unless it is an empty section that exists.
void refuse_outside_key(const Entry& entry, const std::string& where) {
  if (entry.node->is_table() && is_section(entry.section)) return;
  if (entry.node->is_table())
    fail(ErrorKind::usage, "{}: unknown section [{}]; {}", where, entry.section,
         advise_on_section(entry.section));
  fail(ErrorKind::usage, "{}: key {} stands outside a [section]; {}", where, entry.section,
       advise_on_key(entry.section, ""));
}

std::string name_of_kind(const toml::node& node) {
  std::ostringstream name;
  name << node.type();
  return name.str();
}

void read_key(Config& config, const std::string& full_name, const toml::node& node,
              const std::string& where) {
  const ConfigKey* key = find_config_key(full_name);
  if (key == nullptr)
    fail(ErrorKind::usage, "{}: unknown key {}; {}", where, full_name,
         advise_on_key(full_name, ""));
  const std::optional<ConfigValue> value = scalar(node);
  if (!value)
    fail(ErrorKind::usage, "{}: {} must be {}, got a TOML {}", where, full_name,
         describe_wanted(*key), name_of_kind(node));
  try {
    set_config_key(config, *key, *value, toml_literal(*value));
  } catch (const Error& error) {
    fail(ErrorKind::usage, "{}: {}", where, error.what());
  }
}

toml::table parse(const std::string& text, const std::string& file_name) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    fail(ErrorKind::usage, "{}:{}: not valid TOML: {}", file_name, error.source().begin.line,
         error.description());
  }
}

}  // namespace

std::optional<ConfigValue> scalar(const toml::node& node) {
  if (const auto* integer = node.as_integer()) return ConfigValue(integer->get());
  if (const auto* number = node.as_floating_point()) return ConfigValue(number->get());
  if (const auto* truth = node.as_boolean()) return ConfigValue(truth->get());
  if (const auto* text = node.as_string()) return ConfigValue(text->get());
  return std::nullopt;
}

void read_toml(Config& config, const std::string& text, const std::string& file_name) {
  const toml::table root = parse(text, file_name);
  for (const Entry& entry : entries_in_file_order(root)) {
    const std::string where = fmt::format("{}:{}", file_name, entry.line);
    if (entry.key.empty()) {
      refuse_outside_key(entry, where);
    } else {
      read_key(config, entry.section + "." + entry.key, *entry.node, where);
    }
  }
  if (const toml::node* phases = root.get("phase")) config.phases = read_phases(*phases, file_name);
}

std::string print_config(const Config& config) {
  std::string text, section;
  for (const ConfigKey& key : config_keys()) {
    if (key.section != section) {
      text += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", key.section);
      section = key.section;
    }
    text += fmt::format("# {} ({})\n{} = {}\n", key.help, describe_wanted(key), key.name,
                        toml_literal(key.get(config)));
  }
  return text + print_phases(config.phases);
}

}  // namespace skep
