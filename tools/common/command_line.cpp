#include "tools/common/command_line.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "engine/core/error.h"
#include "train/edit_distance.h"
#include "train/version.h"

namespace skep {
namespace {

std::vector<std::string> long_names(const CLI::App& flags) {
  std::vector<std::string> names;
  for (const CLI::Option* option : flags.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

void refuse_unknown(const CLI::App& flags) {
  const std::vector<std::string> rest = flags.remaining();
  const auto flag = std::find_if(rest.begin(), rest.end(), [](const std::string& argument) {
    return argument.size() > 1 && argument.starts_with("-");
  });
  if (flag != rest.end()) {
    const std::string name = flag->substr(0, flag->find('='));
    fail(ErrorKind::usage, "unknown option {}; {}see {} --help", name,
         suggestion(name, long_names(flags)), flags.get_name());
  }
  if (!rest.empty())
    fail(ErrorKind::usage, "unexpected argument {}; see {} --help", rest.front(), flags.get_name());
}

// CLI11 would take the next flag as the value of one that lacks it.
void refuse_flags_as_values(const CLI::App& flags, const Arguments& arguments) {
  const std::vector<std::string> names = long_names(flags);
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    const CLI::Option* option = flags.get_option_no_throw(arguments[i]);
    if (arguments[i].starts_with("--") && option != nullptr && option->get_items_expected() > 0 &&
        std::find(names.begin(), names.end(), arguments[i + 1]) != names.end())
      fail(ErrorKind::usage, "{} needs a value, got the option {}", arguments[i], arguments[i + 1]);
  }
}

// Not CLI11's own reading of numbers, to which 010 is 8.
template <class T>
void add_decimal(CLI::App& flags, const std::string& name, const std::string& type, T& value,
                 const std::string& help) {
  const CLI::callback_t read = [&value, name](const CLI::results_t& given) {
    const std::string& text = given.back();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = end == text.data() + text.size();
    const char* wanted = std::is_integral_v<T> ? "an integer" : "a number";
    if (whole && error == std::errc::result_out_of_range)
      throw CLI::ConversionError(
          fmt::format("{} must be {}, and {} does not fit into 64 bits", name, wanted, text));
    if (!whole || error != std::errc())
      throw CLI::ConversionError(fmt::format("{} must be {}, not \"{}\"", name, wanted, text));
    return true;
  };
  flags.add_option(name, read, help)->type_name(type)->default_str(fmt::format("{}", value));
}

enum class Surplus { refuse, keep };

std::string parse(CLI::App& flags, const Arguments& arguments, Surplus surplus) {
  refuse_flags_as_values(flags, arguments);
  flags.allow_extras();
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    flags.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return flags.help();
  } catch (const CLI::CallForVersion& version) {
    return version.what();
  } catch (const CLI::ParseError& error) {
    if (surplus == Surplus::refuse) refuse_unknown(flags);  // the likelier cause
    fail(ErrorKind::usage, "{}; see {} --help", error.what(), flags.get_name());
  }
  if (surplus == Surplus::refuse) refuse_unknown(flags);
  return {};
}

}  // namespace

std::unique_ptr<CLI::App> make_flags(const std::string& name, const std::string& purpose) {
  auto flags = std::make_unique<CLI::App>(purpose, name);
  flags->get_formatter()->column_width(30);
  flags->set_help_flag("--help,-h", "print this text");
  flags->set_version_flag("--version", version_line(), "print the version");
  return flags;
}

void add_number(CLI::App& flags, const std::string& name, const std::string& type,
                std::int64_t& value, const std::string& help) {
  add_decimal(flags, name, type, value, help);
}
void add_number(CLI::App& flags, const std::string& name, const std::string& type, double& value,
                const std::string& help) {
  add_decimal(flags, name, type, value, help);
}

std::string parse(CLI::App& flags, const Arguments& arguments) {
  return parse(flags, arguments, Surplus::refuse);
}

std::string parse_known(CLI::App& flags, const Arguments& arguments, Arguments& rest) {
  const std::string help = parse(flags, arguments, Surplus::keep);
  if (help.empty()) rest = flags.remaining();
  return help;
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  check(!candidates.empty(), "nearest_name: no candidates");
  const std::string_view letters = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  const auto distance = [&](const std::string& candidate) {
    return candidate.starts_with(word) ? 1 : edit_distance(word, candidate);
  };
  const std::string& near = *std::min_element(
      candidates.begin(), candidates.end(),
      [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
  return is_misspelling(letters, distance(near)) ? near : "";
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest_name(word, candidates);
  return near.empty() ? "" : fmt::format("did you mean {}? ", near);
}

}  // namespace skep
