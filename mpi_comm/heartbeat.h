#pragma once
// A sign of life of one rank for the others, as a small file in the run's folder
// (heartbeat.rank-N): when ranks no longer hear each other over MPI they can still read this.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mpi_comm/flight_recorder.h"

namespace skep {

struct Heartbeat {
  int rank = 0;
  std::string host;
  int pid = 0;
  double written = 0;       ///< seconds since 1970
  double idle_seconds = 0;  ///< since the rank last did anything, when this was written
  std::string activity;     ///< what it was doing
  bool waits = false;       ///< for the collective below
  std::string operation, topology;
  std::uint64_t sequence = 0;
  std::uint32_t round = 0;
  bool leaves = false;  ///< it has written its flight record and ends
};

/// What the recorder says now; `idle_seconds` and `leaves` are the caller's.
Heartbeat make_heartbeat(const FlightRecorder& recorder, int rank);

/// Seconds without a sign of life, as of now. Hosts' clocks are taken to agree.
double idle_now(const Heartbeat& beat);
/// Seconds in which not even the watchdog's thread wrote: the process is stopped, gone or cut off.
double silent_now(const Heartbeat& beat);

std::string heartbeat_path(const std::string& folder, int rank);
/// Replaces the file in one step; failures are passed over: the run is worth more than its pulse.
void write_heartbeat(const std::string& folder, const Heartbeat& beat);
/// Nothing when there is none to be read.
std::optional<Heartbeat> read_heartbeat(const std::string& folder, int rank);

/// `flight.rank-N.json`: the recorder's collectives, oldest first, and the rank's last activity.
/// Failures are passed over.
std::string flight_path(const std::string& folder, int rank);
void write_flight(const std::string& folder, const FlightRecorder& recorder, const Heartbeat& beat,
                  int ranks);

/// Who waits for what, and what the others did last; one line. `beats` has those that were found;
/// of processes silent for longer than `silence_seconds` only that is told.
std::string describe_stall(const std::vector<Heartbeat>& beats, int ranks, double silence_seconds);

}  // namespace skep
