// The command line. CLI11 splits it into flags and values and lays out --help; what the values mean
// is decided by the table of keys.
#include "train/config.h"

#include <CLI/CLI.hpp>

#include <deque>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "train/completion.h"
#include "train/config_table.h"
#include "train/version.h"

namespace skep {
namespace {

constexpr const char* purpose =
    R"(Trains a transformer on a text, alone or on N ranks: mpirun -np N train ...
All it must be told is the text: --data.train FILE. What a run writes goes to runs/NAME: its
settings, metrics.jsonl (one line a step), logs, and ckpt/step-N with the model.)";

constexpr const char* footer =
    R"(Settings come from the defaults, then the file of --config, then the command line. A run that was
stopped goes on with the settings of its folder and --run.resume auto.

Examples:
  $ train --data.train input.txt --run.steps 200
  $ mpirun -np 4 train --config recipe.toml --data.train input.txt --run.name second
  $ mpirun -np 4 train --config runs/second/config.toml --run.resume auto
  $ generate --model runs/second/ckpt/step-1000 --prompt "The "
)";

/// What the flags hold after CLI11 has run; a deque so that addresses stay put while it grows.
struct Flags {
  bool help = false;
  bool version = false;
  bool print_config = false;
  bool print_completion = false;
  bool doctor = false;
  bool explain = false;
  std::string file;
  CLI::Option* file_option = nullptr;
  std::deque<std::string> values;  ///< one for each key of the table
  std::vector<CLI::Option*> options;
};

void add_flags(CLI::App& app, Flags& flags) {
  app.set_help_flag();  // --help is read like the others: it wins over errors in the rest
  app.allow_extras();   // unknown flags are reported below, with the nearest name
  app.add_flag("--help,-h", flags.help, "print this text");
  app.add_flag("--version", flags.version, "print the version");
  app.add_flag("--explain", flags.explain,
               "also tell what each parameter and the first step cost, predicted and measured");
  app.add_flag("--doctor", flags.doctor,
               "check this machine (also under mpirun) and tell how to mend what is wrong");
  app.add_flag("--print-config", flags.print_config, "print the effective configuration as TOML");
  app.add_flag("--print-completion", flags.print_completion,
               "print what lets bash complete these options: source <(train --print-completion)");
  flags.file_option = app.add_option("--config", flags.file,
                                     "settings as TOML, also [[phase]] entries; flags win over it")
                          ->type_name("FILE.toml")
                          ->take_last();
  const Config defaults;
  for (const ConfigKey& key : config_keys()) {
    flags.values.emplace_back();
    const std::string help = fmt::format("{} ({}; default {})", key.help, describe_wanted(key),
                                         toml_literal(key.get(defaults)));
    flags.options.push_back(app.add_option("--" + key.full_name(), flags.values.back(), help)
                                ->group("[" + key.section + "]")
                                ->type_name("")
                                ->take_last());
  }
}

/// The names of the options that are no keys.
std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    if (option->get_group() == "Options") names.push_back("--" + option->get_lnames().front());
  return names;
}

/// Reports the first argument that no flag took.
[[noreturn]] void refuse_argument(const std::string& argument) {
  if (!argument.starts_with("-"))
    fail(ErrorKind::usage, "unexpected argument {}; settings are written --SECTION.KEY VALUE",
         argument);
  const std::string name = argument.substr(0, argument.find('='));
  if (name == "-np" || name == "-n")
    fail(ErrorKind::usage, "{} is an option of mpirun: write `mpirun {} N train …`", name, name);
  const std::size_t start = name.find_first_not_of('-');
  const std::string bare = start == std::string::npos ? "" : name.substr(start);
  fail(ErrorKind::usage, "unknown option {}; {}", name, advise_on_key(bare, "--"));
}

/// CLI11 takes whatever follows a flag as its value, even the next flag.
void refuse_flags_as_values(const Flags& flags) {
  for (std::size_t i = 0; i < flags.options.size(); ++i)
    if (flags.values[i].starts_with("--"))
      fail(ErrorKind::usage, "--{} needs a value, got the option {}", config_keys()[i].full_name(),
           flags.values[i]);
}

void read_config_file(Config& config, const std::string& path) {
  std::string text;
  if (path.empty()) fail(ErrorKind::usage, "--config needs the path of a file");
  try {
    text = read_file(path);
  } catch (const Error& error) {
    fail(ErrorKind::usage, "--config: {}", error.what());
  }
  read_toml(config, text, path);
}

/// Defaults, then the file, then the flags.
Config effective_config(const Flags& flags) {
  Config config;
  const std::size_t files = flags.file_option->count();
  if (files > 1) fail(ErrorKind::usage, "--config is given {} times; name one file", files);
  if (files == 1) read_config_file(config, flags.file);
  for (std::size_t i = 0; i < flags.options.size(); ++i) {
    if (flags.options[i]->count() > 0)
      set_config_key_from_text(config, config_keys()[i], flags.values[i]);
  }
  return config;
}

}  // namespace

ParsedCommand parse_command_line(int argc, const char* const* argv) {
  CLI::App app(purpose, "train");
  app.footer(footer);
  app.get_formatter()->column_width(28);
  app.get_formatter()->label("OPTIONS", "--SECTION.KEY VALUE ...");
  Flags flags;
  add_flags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ArgumentMismatch& error) {  // "--run.name: 1 required …"
    const std::string what = error.what();
    fail(ErrorKind::usage, "{} needs a value; see --help", what.substr(0, what.find(':')));
  } catch (const CLI::ParseError& error) {
    fail(ErrorKind::usage, "{}; see --help", error.what());
  }
  if (flags.help) return {Config{}, Action::help, app.help(), Explain::no};
  if (flags.version) return {Config{}, Action::version, version_line(), Explain::no};
  if (flags.print_completion)
    return {Config{}, Action::print_completion, bash_completion(flag_names(app)), Explain::no};
  refuse_flags_as_values(flags);
  if (const auto rest = app.remaining(); !rest.empty()) refuse_argument(rest.front());
  ParsedCommand command{effective_config(flags), Action::train, "",
                        flags.explain ? Explain::yes : Explain::no};
  if (flags.doctor) command.action = Action::doctor;
  if (flags.print_config) {
    command.action = Action::print_config;
    command.text = print_config(command.config);
  }
  return command;
}

}  // namespace skep
