#include "train/observe/repeats.h"

#include <fmt/format.h>

#include <algorithm>

namespace skep {

std::string Repeats::add(std::int64_t step, const std::string& text) {
  auto found = std::find_if(seen_.begin(), seen_.end(),
                            [&](const auto& entry) { return entry.first == text; });
  if (found == seen_.end()) found = seen_.insert(seen_.end(), {text, {}});
  Count& count = found->second;
  ++count.times;
  count.last_step = step;
  if (count.times < 10 * count.told) return {};
  count.told = count.times;
  if (count.times == 1) return fmt::format("step {}: {}", step, text);
  return fmt::format("step {}: {} (repeated {} times)", step, text, count.times - 1);
}

std::vector<std::string> Repeats::untold() const {
  std::vector<std::string> lines;
  for (const auto& [text, count] : seen_)
    if (count.times > count.told)
      lines.push_back(fmt::format("{} (repeated {} times, the last at step {})", text,
                                  count.times - 1, count.last_step));
  return lines;
}

}  // namespace skep
