#pragma once
// A plan is what one rank does in one collective, written down as data: rounds of transfers.
// All sends and receives of a round run together; the next round starts when they are complete.
// Between two ranks, messages are matched in the order of the plan: the k-th send to a peer meets
// that peer's k-th receive. What a round combines is awaited in the listed order, a few messages at
// a time, so it must come from sends of rounds that the peers reach without it. Plans of all ranks
// together can be checked without MPI (simulator.h).
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace skep {

/// Elements [begin, end) of the buffer this rank's plan works on.
struct Range {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool operator==(const Range&) const = default;
};

struct Transfer {
  int peer = 0;  ///< the other rank
  Range range;   ///< which elements of this rank's buffer
};

/// What becomes of received elements: combined into the buffer in the order listed, or stored.
enum class OnArrival { combine, copy };

struct Round {
  OnArrival on_arrival = OnArrival::copy;
  std::vector<Transfer> sends, receives;
  std::function<void()> before;  ///< this rank's own work on what has arrived; mostly none

  // Empty ranges are never sent: both sides leave them out.
  void send(int peer, Range range);
  void receive(int peer, Range range);
};

/// How the two ends of a transfer name its elements: by one range, since all ranks number their
/// elements alike, or each by a range of its own buffer.
enum class Numbering { shared, own };

struct Plan {
  std::string topology;   ///< who made it; traffic is counted under this name
  std::string operation;  ///< "all_reduce", …
  std::vector<Round> rounds;
  int participants = 1;  ///< ranks whose values meet: the divisor of a mean
  Numbering numbering = Numbering::shared;
  // Who takes part, in order, and in what; nobody when made by hand: there is no one to compare
  // with.
  std::vector<int> group;
  int root = -1;  ///< of a broadcast
  long step = 0;

  /// Elements this rank sends over all rounds.
  std::size_t elements_sent() const;
  /// Appends the rounds of another plan.
  void append(Plan&& next);
  /// Moves all ranges by `elements`: the plan then works further back in a larger buffer.
  void shift(std::size_t elements);
};

/// A table for readers: one line a round, e.g. `  0  combine  send 0-3 to 1      receive 6-9 from
/// 2`.
std::string to_string(const Plan& plan);

}  // namespace skep
