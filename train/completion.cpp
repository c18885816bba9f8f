#include "train/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "train/config_table.h"

namespace skep {
namespace {

/// What to offer after a key: its names, files where it takes other texts too, no number.
std::string offer(const ConfigKey& key) {
  const ConfigValue value = key.get(Config{});
  if (std::holds_alternative<bool>(value)) return "_skep_offer \"true false\"";
  if (!std::holds_alternative<std::string>(value)) return ":";
  return fmt::format("_skep_offer \"{}\"{}", fmt::join(key.rule.names, " "),
                     key.rule.is_choice() ? "" : " -f");
}

constexpr const char* script =
    R"(# Completes the options of train and their values; written by train --print-completion.
_skep_offer() {{ mapfile -t COMPREPLY < <(compgen -W "$1" $2 -- "${{COMP_WORDS[COMP_CWORD]}}"); }}

_skep_train() {{
  COMPREPLY=()
  case ${{COMP_WORDS[COMP_CWORD - 1]}} in
    --config) _skep_offer "" -f ;;
{}    *) _skep_offer "{} {}" ;;
  esac
}}

complete -o filenames -F _skep_train train
)";

}  // namespace

std::string bash_completion(const std::vector<std::string>& flags) {
  std::string cases;
  std::vector<std::string> options;
  for (const ConfigKey& key : config_keys()) {
    options.push_back("--" + key.full_name());
    cases += fmt::format("    {}) {} ;;\n", options.back(), offer(key));
  }
  return fmt::format(script, cases, fmt::join(flags, " "), fmt::join(options, " "));
}

}  // namespace skep
