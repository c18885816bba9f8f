#pragma once
// What a key takes beyond its type, and the words that say so in help and errors. NaN is refused by
// all rules on numbers.
#include <functional>
#include <string>
#include <vector>

#include "train/config.h"

namespace skep {

struct Rule {
  std::string wanted;  ///< "at least 1"; empty: every value of the type
  std::function<bool(const ConfigValue&)> allows;
  std::vector<std::string> names = {};  ///< texts that mean something, all or some of what it takes

  bool is_choice() const { return wanted.starts_with("one of"); }
};

Rule any();
/// Finite values from `low` on.
Rule at_least(double low);
Rule from_to(std::int64_t low, std::int64_t high);
/// Sizes of things in memory. The bound keeps products of two of them within 64 bits.
Rule size_from(std::int64_t low);
Rule within(double low, double high);
Rule above_zero();
Rule above_zero_or_inf();
Rule power_of_two();  ///< from 1 to 2^40
Rule dynamic_or_above_zero();
Rule fraction_below_one();
Rule share();  ///< greater than 0, at most 1
Rule one_of(const std::vector<std::string>& names);
/// The name of a folder, not a path to one.
Rule plain_name();
/// Any text; `names` are those with a meaning of their own.
Rule not_empty(std::vector<std::string> names);

}  // namespace skep
