#pragma once
// Notices that the ranks wait for each other in vain. A thread of its own, which makes no MPI
// calls, watches this rank's flight recorder and leaves a heartbeat in the run's folder about every
// second. The run is stalled when some rank waits in a collective and no rank has done anything
// (finished a round, started a collective, changed its activity) for the limit. Each rank then
// writes flight.rank-N.json, the lowest waiting one prints who waits for whom, and all leave with
// code 6.
// A launcher that has lost a rank tells the others to end and kills them a second later: who waits
// in a collective then writes its record, too.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "mpi_comm/flight_recorder.h"
#include "mpi_comm/heartbeat.h"

namespace skep {

struct WatchdogSettings {
  std::string folder;  ///< exists; the same for all ranks
  int rank = 0, ranks = 1;
  double limit_seconds = 300;
  double warning_seconds = 60;  ///< or half the limit, whichever is less
  /// Whether somebody told this process to end; may be asked at any time, from the thread.
  std::function<bool()> told_to_end = [] { return false; };
  /// What a warning does; by default it is printed.
  std::function<void(const std::string& line)> warn;
  /// What the end does with the line of the rank that speaks (the others have none); by default it
  /// is printed and the process leaves with code 6.
  std::function<void(const std::string& line)> leave;
};

class Watchdog {
 public:
  /// The recorder must outlive it.
  Watchdog(const FlightRecorder& recorder, WatchdogSettings settings);
  /// Removes the heartbeat; while an exception passes it stays, and the flight record is written.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  void watch();
  bool sleep_for_a_period();  // likewise, with an open ear
  void write_last_words();
  bool sleep(std::chrono::duration<double> time);  // false when it is time to stop
  Heartbeat beat();
  std::vector<Heartbeat> beats_of_all(const Heartbeat& own) const;
  std::string describe(const std::vector<Heartbeat>& beats) const;
  int lowest_waiting(const std::vector<Heartbeat>& beats) const;  // -1: none
  void look_around(const Heartbeat& own);
  void end_run(Heartbeat own);
  void wait_for_the_others();

  const FlightRecorder& recorder_;
  WatchdogSettings settings_;
  std::chrono::duration<double> period_;
  double silence_seconds_;  // of a heartbeat, until its process counts as stopped
  // The thread's own.
  std::uint64_t signs_ = 0;
  Clock::time_point last_sign_ = Clock::now();
  double next_look_seconds_ = 0;
  bool warned_ = false, ended_ = false, wrote_last_words_ = false;

  std::mutex mutex_;
  std::condition_variable stopping_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace skep
