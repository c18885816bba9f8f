#include "train/config_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace skep {
namespace {

double as_number(const ConfigValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return std::get<double>(value);
}

}  // namespace

Rule any() {
  return {"", [](const ConfigValue&) { return true; }};
}

Rule at_least(double low) {
  return {fmt::format("at least {}", low), [low](const ConfigValue& value) {
            return as_number(value) >= low && std::isfinite(as_number(value));
          }};
}

Rule from_to(std::int64_t low, std::int64_t high) {
  return {fmt::format("from {} to {}", low, high), [low, high](const ConfigValue& value) {
            return std::get<std::int64_t>(value) >= low && std::get<std::int64_t>(value) <= high;
          }};
}

Rule size_from(std::int64_t low) { return from_to(low, std::numeric_limits<std::int32_t>::max()); }

Rule within(double low, double high) {
  return {fmt::format("from {:g} to {:g}", low, high), [=](const ConfigValue& value) {
            return as_number(value) >= low && as_number(value) <= high;
          }};
}

Rule above_zero() {
  return {"greater than 0", [](const ConfigValue& value) {
            return as_number(value) > 0 && std::isfinite(as_number(value));
          }};
}

Rule power_of_two() {
  return {"a power of two from 1 to 2^40", [](const ConfigValue& value) {
            int exponent = 0;
            const double number = as_number(value);
            return number >= 1 && number <= 0x1p40 && std::frexp(number, &exponent) == 0.5;
          }};
}

Rule dynamic_or_above_zero() {
  return {"dynamic or a number greater than 0", [](const ConfigValue& value) {
            const std::string& text = std::get<std::string>(value);
            double number = 0;
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), number);
            return text == "dynamic" || (error == std::errc() && end == text.data() + text.size() &&
                                         number > 0 && std::isfinite(number));
          }};
}

Rule above_zero_or_inf() {
  return {"greater than 0 or inf", [](const ConfigValue& value) { return as_number(value) > 0; }};
}

Rule fraction_below_one() {
  return {"from 0 to less than 1",
          [](const ConfigValue& value) { return as_number(value) >= 0 && as_number(value) < 1; }};
}

Rule share() {
  return {"greater than 0, at most 1",
          [](const ConfigValue& value) { return as_number(value) > 0 && as_number(value) <= 1; }};
}

Rule one_of(const std::vector<std::string>& names) {
  return {fmt::format("one of {}", fmt::join(names, ", ")),
          [names](const ConfigValue& value) {
            return std::find(names.begin(), names.end(), std::get<std::string>(value)) !=
                   names.end();
          },
          names};
}

Rule plain_name() {
  return {"a name without /", [](const ConfigValue& value) {
            const std::string& name = std::get<std::string>(value);
            return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos;
          }};
}

Rule not_empty(std::vector<std::string> names) {
  return {"not empty",
          [](const ConfigValue& value) { return !std::get<std::string>(value).empty(); },
          std::move(names)};
}

}  // namespace skep
