#pragma once
// What a rank's last 256 collectives were and how far they got, and what the rank is doing now:
// written by the rank's thread without locks or allocation, read by the watchdog at any time.
// Every write is a sign of life.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "mpi_comm/fingerprint.h"
#include "mpi_comm/seqlock.h"

namespace skep {

/// `backward of blocks.3.attention`, cut off after 95 characters.
using Activity = ShortText<96>;

struct CollectiveRecord {
  Fingerprint call;
  std::uint32_t round = 0, rounds = 0;  ///< finished ones of all; done when equal
  std::int64_t start_ns = 0;            ///< since 1970, by this host's clock
  std::int64_t end_ns = 0;              ///< 0 while it lasts
  Activity activity;                    ///< what the rank was doing when it started this

  bool done() const { return end_ns != 0; }
};

class FlightRecorder {
 public:
  static constexpr std::size_t capacity = 256;
  FlightRecorder();

  // By the rank's thread.
  void start(const Fingerprint& call, std::size_t rounds);
  /// That so many rounds are finished.
  void reach(std::uint64_t sequence, std::size_t round);
  /// The rank can do nothing until this collective is complete; then it goes on.
  void wait_for(std::uint64_t sequence);
  void go_on();
  /// What the rank is about to do: `doing("backward of ", path)`.
  void doing(std::string_view what, std::string_view where = {});

  // By any thread.
  /// Grows with everything the rank does.
  std::uint64_t signs_of_life() const { return signs_.load(std::memory_order_relaxed); }
  /// Collectives started.
  std::uint64_t started() const { return started_.load(std::memory_order_acquire); }
  Activity activity() const { return activity_.load(); }
  /// One of the last 256.
  std::optional<CollectiveRecord> find(std::uint64_t sequence) const;
  /// The one this rank waits for.
  std::optional<CollectiveRecord> awaited() const;
  /// All that are kept, oldest first.
  std::vector<CollectiveRecord> records() const;

 private:
  struct Slots {
    std::array<CollectiveRecord, capacity> own;  // the writer's; readers have `shared`
    std::array<Seqlock<CollectiveRecord>, capacity> shared;
  };
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};

  void live() {
    signs_.store(signs_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::unique_ptr<Slots> slots_;
  std::atomic<std::uint64_t> signs_ = 0, started_ = 0, awaited_ = nothing;
  Seqlock<Activity> activity_;
  Activity own_activity_;
};

}  // namespace skep
