#pragma once
// [[phase]]: settings that hold for a part of a run. A phase names some keys by short names of its
// own; their values are checked by the keys' own rules.
#include <toml++/toml.h>

#include "train/config.h"

namespace skep {

/// The value of a node, or nothing when it is an array, a table or a date.
std::optional<ConfigValue> scalar(const toml::node& node);

/// Reads the array of [[phase]] tables. Error(usage) with the line of what is wrong.
std::vector<PhaseEntry> read_phases(const toml::node& tables, const std::string& file_name);

/// The phases as TOML; empty when there are none.
std::string print_phases(const std::vector<PhaseEntry>& phases);

}  // namespace skep
