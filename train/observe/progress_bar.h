#pragma once
// Progress for a person who watches: one line that is drawn over and over, with what is worth
// keeping (validations, messages) printed above it. Drawn with carriage returns and spaces alone,
// so that a file it ends up in by mistake stays readable.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "train/observe/observer.h"

namespace skep {

struct BarState {
  std::int64_t step = 0, steps = 0;
  double loss = 0, lr = 0, tokens_per_second = 0, seconds_left = 0;
};

/// The line, at most columns - 1 characters long (the last column would wrap on some terminals).
/// Where that is short the bar shrinks, then speed, rate, bar, time left and loss leave, in turn.
std::string draw_bar(const BarState& state, int columns);

/// Where the bar is drawn.
struct Screen {
  std::function<int()> columns;
  std::function<void(std::string_view)> write;  ///< to appear at once
};

/// `steps` is the run's last step, `first` where it starts. When it goes away, the cursor stands at
/// the beginning of a line.
std::unique_ptr<Observer> make_progress_bar(std::int64_t first, std::int64_t steps, Screen screen);

}  // namespace skep
