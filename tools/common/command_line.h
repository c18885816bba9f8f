#pragma once
// Flags of the tools. CLI11 reads them and lays out --help; here mistakes become one line, with the
// nearest name for an unknown one.
#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace skep {

/// What follows the name of the tool, and of its command where it has several.
using Arguments = std::vector<std::string>;

/// An empty set of flags with the looks all tools share.
std::unique_ptr<CLI::App> make_flags(const std::string& name, const std::string& purpose);

/// A flag with a decimal number; its default is what `value` holds now. `type` stands for the value
/// in
/// --help.
void add_number(CLI::App& flags, const std::string& name, const std::string& type,
                std::int64_t& value, const std::string& help);
void add_number(CLI::App& flags, const std::string& name, const std::string& type, double& value,
                const std::string& help);

/// Reads the arguments into the variables bound to `flags`. Returns the text to print instead of
/// working when help is asked for, otherwise nothing. Error(usage) for unknown or missing flags and
/// for values of the wrong type.
std::string parse(CLI::App& flags, const Arguments& arguments);

/// As parse, but hands back what no flag took instead of refusing it.
std::string parse_known(CLI::App& flags, const Arguments& arguments, Arguments& rest);

/// The candidate that `word` misspells, with the fewest edits (insert, delete, replace); the first
/// of equals, and nothing when none is near. To lack the end counts as one edit.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

/// "did you mean NAME? ", or nothing when no candidate is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace skep
