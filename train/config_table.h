#pragma once
// The table of configuration keys. Defaults, files, the command line, --help and --print-config are
// all loops over it, so that no two of them can tell different stories.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "train/config.h"
#include "train/config_rules.h"

namespace skep {

struct ConfigKey {
  std::string section;
  std::string name;
  Rule rule;
  std::string help;
  std::function<ConfigValue(const Config&)> get;
  std::function<void(Config&, const ConfigValue&)> put;

  std::string full_name() const { return section + "." + name; }
};

/// Every key, in the order of the sections of Config.
const std::vector<ConfigKey>& config_keys();

/// The key called "section.name", or null.
const ConfigKey* find_config_key(std::string_view full_name);

/// What to do about a name that is no key: the key it misspells ("did you mean --optim.lr?", with
/// `prefix` "--"), else what its section has, else where to look.
std::string advise_on_key(std::string_view full_name, std::string_view prefix);

/// The same for the name of a section.
std::string advise_on_section(std::string_view section);

/// "a number, at least 0": what the key takes, for help and errors.
std::string describe_wanted(const ConfigKey& key);

/// Stores a value after checking type and rule; an integer is fine where a number is wanted.
/// `shown` is the value as the user wrote it. Throws Error(usage) without naming the place.
void set_config_key(Config& config, const ConfigKey& key, const ConfigValue& value,
                    std::string_view shown);

/// Reads the text of a command-line value as the key's type, then as above.
void set_config_key_from_text(Config& config, const ConfigKey& key, const std::string& text);

/// The key's value in `config` as TOML writes it.
std::string toml_literal(const ConfigValue& value);

}  // namespace skep
