#include "train/observe/metrics_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "engine/core/error.h"
#include "train/observe/metrics.h"

namespace skep {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// A shell command and the write end of a pipe into it.
class Command {
 public:
  explicit Command(const std::string& command) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) give_up(errno);
    input_ = ends[1];
    const int error = spawn(command, ends[0]);
    close(ends[0]);
    if (error != 0) {
      close_input();
      give_up(error);
    }
    fcntl(input_, F_SETFL, O_NONBLOCK);
  }
  ~Command() {
    close_input();
    if (has_ended()) return;
    kill(-process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  int input() const { return input_; }
  void close_input() {
    if (input_ >= 0) close(input_);
    input_ = -1;
  }
  bool has_ended() {
    if (!ended_) ended_ = waitpid(process_, nullptr, WNOHANG) != 0;
    return ended_;
  }

 private:
  [[noreturn]] static void give_up(int error) {
    fail(ErrorKind::usage, "observe.pipe: no command can be started: {}", std::strerror(error));
  }
  // In a process group of its own: all of it can be stopped, and what stops this program by its
  // group leaves the command to take the last lines. The signals this program ignores are not
  // ignored there.
  int spawn(const std::string& command, int read_end) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, read_end, STDIN_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    std::string shell = "sh", option = "-c", text = command;
    std::array<char*, 4> arguments{shell.data(), option.data(), text.data(), nullptr};
    const int error =
        posix_spawn(&process_, "/bin/sh", &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }

  pid_t process_ = 0;
  int input_ = -1;
  bool ended_ = false;
};

class MetricsPipe final : public Observer {
 public:
  MetricsPipe(const std::string& command, std::function<void(const std::string&)> warn,
              double end_seconds)
      : command_(command), warn_(std::move(warn)), end_seconds_(end_seconds) {}
  ~MetricsPipe() override {
    warn_ = [](const std::string&) {};
    const auto end = Clock::now() + std::chrono::duration<double>(end_seconds_);
    while (!waiting_.empty() && command_.input() >= 0 && Clock::now() < end) {
      pollfd room{command_.input(), POLLOUT, 0};
      poll(&room, 1, 50);
      hand_over();
    }
    command_.close_input();
    while (!command_.has_ended() && Clock::now() < end) std::this_thread::sleep_for(10ms);
    if (!command_.has_ended())  // those that warn_ would tell are going away too
      std::fprintf(
          stderr,
          "observe.pipe: the command was stopped, %g s after the run's end: what it had not "
          "done by then is lost\n",
          end_seconds_);
  }

  void on_step(const StepReport& r) override { send(step_fields(r).dump() + "\n"); }
  void on_validation(std::int64_t step, double loss) override {
    send(validation_fields(step, loss).dump() + "\n");
  }

 private:
  void send(const std::string& line) {
    if (command_.input() < 0) return;
    hand_over();
    if (waiting_.size() + line.size() <= pipe_buffer_bytes) {
      waiting_ += line;
      hand_over();
    } else if (!std::exchange(told_, true)) {
      warn_("observe.pipe: the command does not keep up; lines it has no room for are dropped");
    }
  }
  void hand_over() {
    while (!waiting_.empty() && command_.input() >= 0) {
      const ssize_t taken = write(command_.input(), waiting_.data(), waiting_.size());
      if (taken > 0) {
        waiting_.erase(0, static_cast<std::size_t>(taken));
      } else if (errno == EAGAIN) {
        return;
      } else if (errno != EINTR) {
        command_.close_input();  // nobody reads any more
        warn_("observe.pipe: the command has ended or closed its input; it is sent no more lines");
      }
    }
  }

  Command command_;
  std::function<void(const std::string&)> warn_;
  double end_seconds_;
  std::string waiting_;  // whole lines, but for the first, of which a part may have been taken
  bool told_ = false;    // that lines are dropped
};

}  // namespace

std::unique_ptr<Observer> make_metrics_pipe(const std::string& command,
                                            std::function<void(const std::string&)> warn,
                                            double end_seconds) {
  return std::make_unique<MetricsPipe>(command, std::move(warn), end_seconds);
}

}  // namespace skep
