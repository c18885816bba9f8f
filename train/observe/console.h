#pragma once
// Progress for a person at the terminal or in a log: one plain line every few steps.
#include <memory>
#include <string_view>

#include "train/observe/observer.h"

namespace skep {

/// Writes to standard output. `steps` is the run's last step, `first` where it starts.
std::unique_ptr<Observer> make_console(std::int64_t first, std::int64_t steps,
                                       std::int64_t log_every);

/// To standard output, at once.
void print(std::string_view text);

/// 75 -> "1m15s".
std::string format_duration(double seconds);

}  // namespace skep
