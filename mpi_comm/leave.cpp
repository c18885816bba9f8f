#include "mpi_comm/leave.h"

#include <fmt/ranges.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "mpi_comm/mpi_check.h"

namespace skep {
namespace {

using namespace std::chrono_literals;

// Long enough for ranks that fail at the same time to hear of each other and for MPI_Abort to reach
// them; short enough for nobody to mind.
constexpr auto settling_time = 500ms;
constexpr auto patience = 5s;  // with a speaker that should have ended this rank by now

// Its own communicator: no message of the run is ever taken for one of these.
MPI_Comm channel = MPI_COMM_NULL;
bool on_new_line = false;

struct Self {
  int rank = 0, size = 1;
  bool running = false;  // MPI has been started and not finalised
};

Self self() {
  Self me;
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  me.running = initialized != 0 && finalized == 0;
  if (me.running) {
    MPI_Comm_rank(MPI_COMM_WORLD, &me.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &me.size);
  }
  return me;
}

std::string with_others(std::string_view message, const std::vector<int>& also) {
  if (also.empty()) return std::string(message);
  return fmt::format("{} (the same on rank{} {})", message, also.size() > 1 ? "s" : "",
                     fmt::join(also, ", "));
}

void flush_output() {
  std::cout.flush();
  std::fflush(nullptr);
}

// Destructors would want the other ranks, so none run.
[[noreturn]] void finalize_and_exit(int exit_code, bool running) {
  if (running) MPI_Finalize();
  std::_Exit(exit_code);
}

[[noreturn]] void leave_in_order(const Self& me, int exit_code, int speaker,
                                 std::string_view message) {
  flush_output();
  if (me.rank == speaker && !message.empty()) tell(me.rank, message);
  // The launcher ends everybody once one rank leaves with a code other than 0.
  if (me.size > 1) MPI_Barrier(channel);
  finalize_and_exit(exit_code, me.running);
}

constexpr std::uint64_t unknown = 0;  // a message that nobody has written yet

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 1469598103934665603ull;  // FNV-1a
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ull;
  return hash;
}

// What the failing ranks say to each other: that they fail, then who has taken the word. Errors of
// MPI are passed over throughout: this rank is ending, whether or not the others can hear it.
class FailingRanks {
 public:
  FailingRanks(const Self& me, std::uint64_t message_hash) : me_(me), hash_(message_hash) {
    say(failing);
  }

  // For so many milliseconds in which this process runs: one that the machine held up for a while
  // has not used up its time.
  void listen(std::chrono::milliseconds time) {
    for (auto left = time; left > 0ms; left -= 1ms) {
      while (hear()) {
      }
      std::this_thread::sleep_for(1ms);
    }
    std::sort(same_.begin(), same_.end());
  }

  void take_the_word() { say(speaking); }

  bool another_speaks() const { return another_speaks_; }
  const std::vector<int>& same() const { return same_; }

 private:
  static constexpr int failing = 0, speaking = 1;  // tags

  void say(int tag) {
    for (int peer = 0; peer < me_.size; ++peer) {
      if (peer == me_.rank) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Isend(&hash_, 1, MPI_UINT64_T, peer, tag, channel, &request);
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
  }

  bool hear() {
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, channel, &found, &status);
    if (found == 0) return false;
    std::uint64_t hash = 0;
    MPI_Recv(&hash, 1, MPI_UINT64_T, status.MPI_SOURCE, status.MPI_TAG, channel, MPI_STATUS_IGNORE);
    // The lowest failing rank speaks, unless a higher one began before it heard of it.
    another_speaks_ |= status.MPI_TAG == speaking || status.MPI_SOURCE < me_.rank;
    if (status.MPI_TAG == failing && hash == hash_ && hash != unknown)
      same_.push_back(status.MPI_SOURCE);
    return true;
  }

  const Self me_;
  std::uint64_t hash_;
  bool another_speaks_ = false;
  std::vector<int> same_;
};

// Set once this rank has settled with the others who speaks. On the heap for good: MPI may still
// read the notices while this rank waits to be ended.
FailingRanks* settled = nullptr;

void settle(const Self& me, std::uint64_t message_hash) {
  settled = new FailingRanks(me, message_hash);
  settled->listen(settling_time);
  if (!settled->another_speaks()) settled->take_the_word();
}

}  // namespace

// One write call: a line that other output cannot tear.
void tell(int rank, std::string_view message) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::string line = fmt::format("rank {} ({}): {}", rank, host.data(), message);
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  if (on_new_line) line.insert(0, 1, '\n');
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

void prepare_to_leave() { MPI_CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &channel)); }

void begin_message_on_new_line() noexcept { on_new_line = true; }

// Now, though the message is not known yet: later there is no hearing the others.
void messages_abandoned() noexcept {
  if (settled == nullptr && channel != MPI_COMM_NULL) settle(self(), unknown);
}

void abort_all(int exit_code, std::string_view message) {
  const Self me = self();
  flush_output();
  if (me.size == 1) {
    tell(me.rank, message);
    finalize_and_exit(exit_code, me.running);
  }
  if (settled == nullptr && channel != MPI_COMM_NULL) settle(me, hash_of(message));
  if (settled != nullptr) {
    // Someone else's word ends this rank meanwhile.
    if (settled->another_speaks()) std::this_thread::sleep_for(patience);
    tell(me.rank, with_others(message, settled->same()));
  } else {
    tell(me.rank, message);
  }
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

void agree(int exit_code, std::string_view message) {
  const Self me = self();
  int speaker = exit_code != 0 ? me.rank : me.size;
  if (me.size > 1) MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &speaker, 1, MPI_INT, MPI_MIN, channel));
  if (speaker == me.size) return;
  int code = exit_code;
  if (me.size > 1) MPI_CHECK(MPI_Bcast(&code, 1, MPI_INT, speaker, channel));
  leave_in_order(me, code, speaker, message);
}

void leave_together(int exit_code, std::string_view message) {
  leave_in_order(self(), exit_code, 0, message);
}

}  // namespace skep
