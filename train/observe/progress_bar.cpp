#include "train/observe/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "train/observe/console.h"
#include "train/observe/pace.h"

namespace skep {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto redraw_interval = std::chrono::milliseconds(100);
constexpr std::size_t shortest_bar = 7, longest_bar = 42;  // with its brackets

// "[=====>   ]" of `length` characters.
std::string draw_track(const BarState& state, std::size_t length) {
  const std::size_t room = length - 2;
  const double done =
      state.steps > 0 ? static_cast<double>(state.step) / static_cast<double>(state.steps) : 1;
  const auto filled = std::min(room, static_cast<std::size_t>(done * static_cast<double>(room)));
  std::string track(filled, '=');
  if (filled < room) track += '>';
  track.resize(room, ' ');
  return "[" + track + "]";
}

// A piece of the line: what has the highest number leaves first.
struct Piece {
  std::string text;
  int leaves;
};

std::size_t length_of(const std::vector<Piece>& pieces) {
  std::size_t length = 0;
  for (const Piece& piece : pieces) length += piece.text.size() + 2;
  return length - std::min<std::size_t>(length, 2);
}

class ProgressBar final : public Observer {
 public:
  ProgressBar(std::int64_t first, std::int64_t steps, Screen screen)
      : first_(first), screen_(std::move(screen)) {
    state_.steps = steps;
  }
  ~ProgressBar() override {
    if (drawn_ == 0) return;
    draw("\r");  // the last state, also when nobody has looked for a moment
    screen_.write("\n");
  }

  void on_step(const StepReport& r) override {
    pace_.add(r.step_seconds, std::chrono::duration<double>(Clock::now() - start_).count());
    state_ = {r.step, state_.steps,        r.loss,
              r.lr,   r.tokens_per_second, pace_.seconds_left(state_.steps - r.step)};
    const bool first = r.step == first_ + 1, last = r.step == state_.steps;
    if (first || last || Clock::now() - drawn_at_ >= redraw_interval) draw("\r");
  }
  void on_validation(std::int64_t step, double loss) override {
    on_message(fmt::format("step {}/{}  validation loss {:.4f}", step, state_.steps, loss));
  }
  void on_message(const std::string& text) override {
    const std::string over = drawn_ > 0 ? "\r" + std::string(drawn_, ' ') + "\r" : "";
    if (drawn_ == 0)
      screen_.write(text + "\n");
    else
      draw(over + text + "\n");
  }

 private:
  // One write: no other output comes between. What is left of a longer line is wiped out.
  void draw(const std::string& before) {
    const std::string line = draw_bar(state_, screen_.columns());
    const std::size_t left_over = before == "\r" && drawn_ > line.size() ? drawn_ - line.size() : 0;
    screen_.write(before + line + std::string(left_over, ' ') + std::string(left_over, '\b'));
    drawn_ = line.size();
    drawn_at_ = Clock::now();
  }

  std::int64_t first_;
  Screen screen_;
  BarState state_;
  Pace pace_;
  std::size_t drawn_ = 0;  // characters of the line the cursor stands behind
  Clock::time_point start_ = Clock::now(), drawn_at_;
};

}  // namespace

std::string draw_bar(const BarState& s, int columns) {
  const std::size_t width = columns > 1 ? static_cast<std::size_t>(columns - 1) : 1;
  std::vector<Piece> pieces{{fmt::format("step {}/{}", s.step, s.steps), 0},
                            {std::string(shortest_bar, ' '), 3},
                            {fmt::format("loss {:.4f}", s.loss), 1},
                            {fmt::format("lr {:.2e}", s.lr), 4},
                            {fmt::format("{:.0f} tokens/s", s.tokens_per_second), 5},
                            {format_duration(s.seconds_left) + " left", 2}};
  while (pieces.size() > 1 && length_of(pieces) > width)
    pieces.erase(std::max_element(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return a.leaves < b.leaves;
    }));
  const std::size_t length = length_of(pieces), spare = width > length ? width - length : 0;
  std::string line;
  for (const Piece& piece : pieces) {
    const bool track = piece.leaves == 3;
    line += (line.empty() ? "" : "  ") +
            (track ? draw_track(s, std::min(longest_bar, shortest_bar + spare)) : piece.text);
  }
  return line.substr(0, width);
}

std::unique_ptr<Observer> make_progress_bar(std::int64_t first, std::int64_t steps, Screen screen) {
  return std::make_unique<ProgressBar>(first, steps, std::move(screen));
}

}  // namespace skep
