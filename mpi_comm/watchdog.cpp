#include "mpi_comm/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/leave.h"

namespace skep {
namespace {

// For the other ranks' flight records, before the launcher ends them; and for the rank that speaks,
// before this one ends itself.
constexpr double patience_seconds = 4;
constexpr double patience_with_speaker_seconds = 3 * patience_seconds;
// Open MPI kills one second after it told to end.
constexpr std::chrono::duration<double> ear_period{0.2};

// Signals are for the rank's own thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Watchdog::Watchdog(const FlightRecorder& recorder, WatchdogSettings settings)
    : recorder_(recorder), settings_(std::move(settings)) {
  const double limit = settings_.limit_seconds;
  settings_.warning_seconds = std::min(settings_.warning_seconds, limit / 2);
  period_ = std::chrono::duration<double>(std::min(1.0, limit / 10));
  silence_seconds_ = 1 + 3 * period_.count();
  const int rank = settings_.rank;
  if (!settings_.warn) settings_.warn = [rank](const std::string& line) { tell(rank, line); };
  if (!settings_.leave)
    settings_.leave = [rank](const std::string& line) {
      if (!line.empty()) tell(rank, line);
      _exit(static_cast<int>(CommFailure::lost_rank));
    };
  beat();
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_one();
  thread_.join();
  if (std::uncaught_exceptions() > 0) {
    write_flight(settings_.folder, recorder_, beat(), settings_.ranks);
    return;
  }
  std::remove(heartbeat_path(settings_.folder, settings_.rank).c_str());
  if (wrote_last_words_) std::remove(flight_path(settings_.folder, settings_.rank).c_str());
}

void Watchdog::watch() {
  while (sleep_for_a_period() && !ended_) {
    const Heartbeat own = beat();
    if (own.idle_seconds < settings_.warning_seconds) {
      next_look_seconds_ = settings_.warning_seconds;
      warned_ = false;
    } else if (own.idle_seconds >= next_look_seconds_) {
      look_around(own);
      // The longer nothing happens, the more seldom all heartbeats are read.
      next_look_seconds_ = own.idle_seconds * 1.05;
    }
  }
}

bool Watchdog::sleep(std::chrono::duration<double> time) {
  std::unique_lock lock(mutex_);
  return !stopping_.wait_for(lock, time, [&] { return stop_; });
}

bool Watchdog::sleep_for_a_period() {
  std::chrono::duration<double> rest = period_;
  for (; rest > ear_period; rest -= ear_period) {
    if (!sleep(ear_period)) return false;
    write_last_words();
  }
  return sleep(rest);
}

// Last, unless the rank comes through after all: then the record is removed in the end.
void Watchdog::write_last_words() {
  if (wrote_last_words_ || !settings_.told_to_end()) return;
  const Heartbeat own = beat();
  if (!own.waits) return;
  // Where the others have ended a stall, this rank slept through it: where it comes to, woken for
  // its end, tells nothing.
  for (const Heartbeat& other : beats_of_all(own))
    if (other.leaves) return;
  write_flight(settings_.folder, recorder_, own, settings_.ranks);
  wrote_last_words_ = true;
}

Heartbeat Watchdog::beat() {
  const std::uint64_t signs = recorder_.signs_of_life();
  const Clock::time_point now = Clock::now();
  if (signs != signs_) last_sign_ = now;
  signs_ = signs;
  Heartbeat beat = make_heartbeat(recorder_, settings_.rank);
  beat.idle_seconds = std::chrono::duration<double>(now - last_sign_).count();
  write_heartbeat(settings_.folder, beat);
  return beat;
}

std::vector<Heartbeat> Watchdog::beats_of_all(const Heartbeat& own) const {
  std::vector<Heartbeat> beats;
  for (int rank = 0; rank < settings_.ranks; ++rank) {
    const auto other = rank == own.rank ? own : read_heartbeat(settings_.folder, rank);
    if (other) beats.push_back(*other);
  }
  return beats;
}

std::string Watchdog::describe(const std::vector<Heartbeat>& beats) const {
  return describe_stall(beats, settings_.ranks, silence_seconds_);
}

int Watchdog::lowest_waiting(const std::vector<Heartbeat>& beats) const {
  const auto found = std::find_if(beats.begin(), beats.end(), [this](const Heartbeat& beat) {
    return beat.waits && silent_now(beat) <= silence_seconds_;
  });
  return found == beats.end() ? -1 : found->rank;
}

void Watchdog::look_around(const Heartbeat& own) {
  const std::vector<Heartbeat> beats = beats_of_all(own);
  const int speaker = lowest_waiting(beats);
  if (speaker < 0) return;  // long work, but nobody waits for it
  double idle = own.idle_seconds;
  for (const Heartbeat& beat : beats) idle = std::min(idle, idle_now(beat));
  if (idle >= settings_.limit_seconds) {
    end_run(own);
  } else if (idle >= settings_.warning_seconds && !warned_) {
    warned_ = true;
    if (speaker == own.rank)
      settings_.warn(fmt::format("no progress for {:.0f} s: {}; at {:.0f} s the run ends", idle,
                                 describe(beats), settings_.limit_seconds));
  }
}

void Watchdog::end_run(Heartbeat own) {
  ended_ = true;
  own.leaves = true;
  write_flight(settings_.folder, recorder_, own, settings_.ranks);
  write_heartbeat(settings_.folder, own);
  if (lowest_waiting(beats_of_all(own)) != own.rank) {
    sleep(std::chrono::duration<double>(patience_with_speaker_seconds));
    settings_.leave("");
    return;
  }
  wait_for_the_others();
  const std::vector<Heartbeat> beats = beats_of_all(own);
  settings_.leave(fmt::format("no progress for {:.0f} s: {}; see flight.rank-*.json in {}",
                              settings_.limit_seconds, describe(beats), settings_.folder));
}

void Watchdog::wait_for_the_others() {
  const auto end = Clock::now() + std::chrono::duration<double>(patience_seconds);
  const auto leaves = [&](int rank) {
    const auto beat = read_heartbeat(settings_.folder, rank);
    return beat && beat->leaves;
  };
  for (int rank = 0; rank < settings_.ranks && Clock::now() < end;)
    if (leaves(rank))
      ++rank;
    else if (!sleep(period_ / 2))
      return;
}

}  // namespace skep
