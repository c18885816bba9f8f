// One configuration value: found by name, read from text, checked, and written as TOML.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/core/error.h"
#include "train/config_table.h"
#include "train/data/utf8.h"
#include "train/edit_distance.h"

namespace skep {
namespace {

std::string_view type_name(const ConfigValue& value) {
  static constexpr std::string_view names[] = {"an integer", "a number", "true or false", "a text"};
  return names[value.index()];
}

[[noreturn]] void refuse_type(const ConfigKey& key, const ConfigValue& model,
                              std::string_view shown) {
  fail(ErrorKind::usage, "{} must be {}, got {}", key.full_name(), type_name(model), shown);
}

/// The whole text as a number of type T.
template <class T>
T parse_number(const ConfigKey& key, const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size();
  if (whole && error == std::errc::result_out_of_range)
    fail(ErrorKind::usage, "{} must be {}, and {} does not fit into 64 bits", key.full_name(),
         describe_wanted(key), text);
  if (!whole || error != std::errc{}) refuse_type(key, value, toml_literal(text));
  return value;
}

/// A text as a value of the type that `model` has.
ConfigValue parse_as(const ConfigKey& key, const ConfigValue& model, const std::string& text) {
  if (std::holds_alternative<std::string>(model)) return text;
  if (std::holds_alternative<double>(model)) return parse_number<double>(key, text);
  if (std::holds_alternative<std::int64_t>(model)) return parse_number<std::int64_t>(key, text);
  if (text != "true" && text != "false") refuse_type(key, model, toml_literal(text));
  return text == "true";
}

/// Texts are names and paths: a control character in one is an accident, and TOML carries UTF-8.
bool is_plain_text(std::string_view text) {
  return !find_invalid_utf8(text) && std::none_of(text.begin(), text.end(), [](unsigned char c) {
    return c < 0x20 || c == 0x7F;
  });
}

template <class Distance>
const ConfigKey& nearest(const std::vector<ConfigKey>& keys, const Distance& distance) {
  return *std::min_element(keys.begin(), keys.end(), [&](const ConfigKey& a, const ConfigKey& b) {
    return distance(a) < distance(b);
  });
}

}  // namespace

const ConfigKey* find_config_key(std::string_view full_name) {
  for (const ConfigKey& key : config_keys())
    if (key.full_name() == full_name) return &key;
  return nullptr;
}

std::string advise_on_key(std::string_view full_name, std::string_view prefix) {
  const std::size_t dot = full_name.rfind('.');
  const std::string_view last = full_name.substr(dot + 1);  // npos + 1 is 0
  const auto distance = [&](const ConfigKey& key) {
    // The right key in the wrong section, or without one, counts as one edit.
    return std::min(edit_distance(full_name, key.full_name()), edit_distance(last, key.name) + 1);
  };
  const ConfigKey& near = nearest(config_keys(), distance);
  if (is_misspelling(last, distance(near)))
    return fmt::format("did you mean {}{}?", prefix, near.full_name());
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys())
    if (dot != std::string_view::npos && key.section == full_name.substr(0, dot))
      names.push_back(key.name);
  if (names.empty()) return "`train --help` lists what there is";
  return fmt::format("[{}] has {}", full_name.substr(0, dot), fmt::join(names, ", "));
}

std::string advise_on_section(std::string_view section) {
  const auto distance = [&](const ConfigKey& key) { return edit_distance(section, key.section); };
  const ConfigKey& near = nearest(config_keys(), distance);
  if (is_misspelling(section, distance(near)))
    return fmt::format("did you mean [{}]?", near.section);
  return "`train --help` lists what there is";
}

std::string describe_wanted(const ConfigKey& key) {
  const ConfigValue model = key.get(Config{});
  if (key.rule.wanted.empty()) return std::string(type_name(model));
  if (key.rule.is_choice()) return key.rule.wanted;
  return fmt::format("{}, {}", type_name(model), key.rule.wanted);
}

void set_config_key(Config& config, const ConfigKey& key, const ConfigValue& value,
                    std::string_view shown) {
  const ConfigValue model = key.get(config);
  ConfigValue stored = value;
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (integer != nullptr && std::holds_alternative<double>(model))
    stored = static_cast<double>(*integer);
  if (stored.index() != model.index()) refuse_type(key, model, shown);
  if (!key.rule.allows(stored))
    fail(ErrorKind::usage, "{} must be {}, got {}", key.full_name(), describe_wanted(key), shown);
  if (const auto* text = std::get_if<std::string>(&stored); text && !is_plain_text(*text))
    fail(ErrorKind::usage, "{} must be UTF-8 without control characters", key.full_name());
  key.put(config, stored);
}

void set_config_key_from_text(Config& config, const ConfigKey& key, const std::string& text) {
  const ConfigValue value = parse_as(key, key.get(config), text);
  const bool quoted = std::holds_alternative<std::string>(value);
  set_config_key(config, key, value, quoted ? toml_literal(text) : text);
}

std::string toml_literal(const ConfigValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) {
    std::string text = fmt::format("{}", *number);  // the shortest that reads back exactly
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
  }
  std::string quoted = "\"";
  for (const unsigned char c : std::get<std::string>(value)) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c < 0x20 || c == 0x7F)
      quoted += fmt::format("\\u{:04X}", c);
    else
      quoted += static_cast<char>(c);
  }
  return quoted + "\"";
}

}  // namespace skep
