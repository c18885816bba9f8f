#include "train/observe/console.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "train/observe/pace.h"

namespace skep {
namespace {

class Console final : public Observer {
 public:
  Console(std::int64_t first, std::int64_t steps, std::int64_t log_every)
      : first_(first), steps_(steps), log_every_(log_every) {}

  void on_step(const StepReport& r) override {
    pace_.add(r.step_seconds, std::chrono::duration<double>(Clock::now() - start_).count());
    if (r.step % log_every_ != 0 && r.step != steps_ && r.step != first_ + 1) return;
    say(fmt::format("step {}/{}  loss {:.4f}  lr {:.2e}  norm {:.2f}  {:.0f} tokens/s  {} left{}",
                    r.step, steps_, r.loss, r.lr, r.grad_norm, r.tokens_per_second,
                    format_duration(pace_.seconds_left(steps_ - r.step)),
                    r.skipped ? "  (skipped)" : ""));
  }
  void on_validation(std::int64_t step, double loss) override {
    say(fmt::format("step {}/{}  validation loss {:.4f}", step, steps_, loss));
  }
  void on_message(const std::string& text) override { say(text); }

 private:
  using Clock = std::chrono::steady_clock;
  static void say(const std::string& line) { print(line + "\n"); }

  std::int64_t first_, steps_, log_every_;
  Pace pace_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

std::unique_ptr<Observer> make_console(std::int64_t first, std::int64_t steps,
                                       std::int64_t log_every) {
  return std::make_unique<Console>(first, steps, log_every);
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);  // a run does not end because nobody listens
  std::fflush(stdout);
}

std::string format_duration(double seconds) {
  const auto s = static_cast<std::int64_t>(seconds + 0.5);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

}  // namespace skep
