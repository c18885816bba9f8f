#include "engine/backends/cuda/simulated/scheduler.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "engine/backends/cuda/simulated/fiber.h"
#include "engine/backends/cuda/simulated/races.h"
#include "engine/core/error.h"

namespace skep::simulated {
namespace {

std::atomic<unsigned> order_seed{0};
std::atomic<std::uint64_t> kernels{0};
std::atomic<const void*> broken{nullptr};
std::mutex seen_mutex;
std::map<const void*, Kernel> seen;

void note(const Kernel& kernel) {
  const std::lock_guard lock(seen_mutex);
  seen.emplace(kernel.address, kernel);
}

constexpr int most_threads = 1024;  // of a block

enum class State : std::uint8_t { fresh, ready, at_warp, at_block, done };

struct Thread {
  State state = State::fresh;
  Collective operation = Collective::sync;
  unsigned mask = 0;
  unsigned meetings = 0;  // of its warp
  unsigned block_meetings = 0;
  Fiber* fiber = nullptr;  // while it has begun and is not done
};

struct Warp {
  // Two rows, used in turn: a lane is at most one meeting ahead of the slowest reader.
  std::array<std::array<std::uint64_t, warp_size>, 2> given{};
  std::array<char, 2> meeting{};  // where ThreadSanitizer sees lanes meet
};

// One block at a time, for one host thread.
class Block {
 public:
  Block() : rng_(order_seed.load()) {
    idle_.reserve(most_threads);
    spent_.reserve(most_threads);
  }

  void run(int threads, void (*body)(void*), void* context) {
    body_ = body;
    context_ = context;
    threads_.assign(static_cast<std::size_t>(threads), {});
    warps_.assign(static_cast<std::size_t>((threads + warp_size - 1) / warp_size), {});
    idle_.insert(idle_.end(), spent_.begin(), spent_.end());
    spent_.clear();
    std::vector<int> order(warps_.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      shuffle(order);
      for (const int warp : order) run_warp(warp);
    } while (pass_block_barrier());
  }

  int current() const { return current_; }

  Given meet(unsigned mask, Collective operation, std::uint64_t value) {
    Thread& me = threads_[static_cast<std::size_t>(current_)];
    Warp& warp = warps_[static_cast<std::size_t>(current_ / warp_size)];
    const unsigned row = me.meetings++ % 2;
    me.operation = operation;
    me.mask = mask;
    warp.given[row][static_cast<std::size_t>(current_ % warp_size)] = value;
    if (operation == Collective::sync) {
      wait(State::at_warp, &warp.meeting[row]);
    } else {
      wait(State::at_warp);
    }
    return Given(warp.given[row].data());
  }

  void meet_block() {
    Thread& me = threads_[static_cast<std::size_t>(current_)];
    wait(State::at_block, &meeting_[me.block_meetings++ % 2]);
  }

  /// Around a grid: the host's work before it, the lanes', the host's after it.
  void begin_grid() { races::release(&grid_begins_); }
  void end_grid() { races::acquire(&grid_ends_); }

 private:
  void wait(State state) {
    Thread& me = threads_[static_cast<std::size_t>(current_)];
    me.state = state;
    races::release(&grid_ends_);  // it may end here, by an error
    me.fiber->suspend();
  }
  void wait(State state, char* meeting) {
    races::release(meeting);
    wait(state);
    races::acquire(meeting);
  }

  // Runs the lanes until each is done or waits for the block.
  void run_warp(int warp) {
    lanes_.resize(static_cast<std::size_t>(
        std::min<int>(warp_size, static_cast<int>(threads_.size()) - warp * warp_size)));
    do {
      std::iota(lanes_.begin(), lanes_.end(), warp * warp_size);
      shuffle(lanes_);
      for (cursor_ = 0; cursor_ < lanes_.size();) run_lane();
    } while (pass_warp_barrier(warp));
  }

  void run_lane() {
    current_ = lanes_[cursor_];
    Thread& thread = threads_[static_cast<std::size_t>(current_)];
    if (thread.state == State::fresh) {
      Fiber& fiber = take_fiber();
      fiber.resume();  // through run_fresh_lanes
    } else if (thread.state == State::ready) {
      place().thread.x = static_cast<unsigned>(current_);
      thread.fiber->resume();
    } else {
      ++cursor_;
      return;
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    ++cursor_;
  }

  // On a fiber: lanes that never wait follow each other here without a switch of stacks.
  void run_fresh_lanes(Fiber& fiber) {
    while (true) {
      current_ = lanes_[cursor_];
      Thread& thread = threads_[static_cast<std::size_t>(current_)];
      const int self = current_;
      place().thread.x = static_cast<unsigned>(self);
      thread.fiber = &fiber;
      races::acquire(&grid_begins_);
      body_(context_);
      races::release(&grid_ends_);
      threads_[static_cast<std::size_t>(self)].state = State::done;
      threads_[static_cast<std::size_t>(self)].fiber = nullptr;
      const bool next_is_fresh =
          !races::watched && lanes_[cursor_] == self && cursor_ + 1 < lanes_.size() &&
          threads_[static_cast<std::size_t>(lanes_[cursor_ + 1])].state == State::fresh;
      if (!next_is_fresh) return;
      ++cursor_;
    }
  }

  Fiber& take_fiber() {
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>([this](Fiber& fiber) {
        try {
          run_fresh_lanes(fiber);
        } catch (...) {
          error_ = std::current_exception();
          races::release(&grid_ends_);
        }
        (races::watched ? spent_ : idle_).push_back(&fiber);
      }));
      return *fibers_.back();
    }
    Fiber& fiber = *idle_.back();
    idle_.pop_back();
    return fiber;
  }

  // True when the lanes met at a warp collective and may go on.
  bool pass_warp_barrier(int warp) {
    unsigned live = 0, waiting = 0;
    const Thread* first = nullptr;
    for (const int i : lanes_) {
      const Thread& thread = threads_[static_cast<std::size_t>(i)];
      const unsigned bit = 1u << (i % warp_size);
      if (thread.state != State::done) live |= bit;
      if (thread.state == State::at_warp) {
        waiting |= bit;
        first = &thread;
      }
    }
    if (waiting == 0) return false;
    check(waiting == live, "GPU: lanes of warp {} wait for the warp, others for the block", warp);
    const unsigned everybody = lanes_.size() == warp_size ? live : live | (~0u << lanes_.size());
    for (const int i : lanes_) {
      Thread& thread = threads_[static_cast<std::size_t>(i)];
      if (thread.state != State::at_warp) continue;
      check(thread.operation == first->operation,
            "GPU: lanes of warp {} are at different collectives", warp);
      check(thread.mask == live || thread.mask == everybody,
            "GPU: warp {} has the live lanes {:08x}, a collective names {:08x}", warp, live,
            thread.mask);
      thread.state = State::ready;
    }
    return true;
  }

  bool pass_block_barrier() {
    bool any = false;
    for (Thread& thread : threads_)
      if (thread.state == State::at_block) {
        thread.state = State::ready;
        any = true;
      }
    return any;
  }

  void shuffle(std::vector<int>& order) {
    if (order_seed.load() != 0) std::shuffle(order.begin(), order.end(), rng_);
  }

  void (*body_)(void*) = nullptr;
  void* context_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<int> lanes_;  // of the warp that runs, in order
  std::size_t cursor_ = 0;  // in lanes_
  int current_ = 0;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<Fiber*> spent_;  // while races are watched, the lanes of a block share no fiber
  std::array<char, 2> meeting_{};
  char grid_begins_ = 0, grid_ends_ = 0;
  std::exception_ptr error_;
  std::mt19937 rng_;
};

thread_local std::unique_ptr<Block> running;

Block& block() {
  check(running != nullptr, "GPU: a warp collective outside a kernel");
  return *running;
}

}  // namespace

Place& place() {
  thread_local Place here;
  return here;
}

void set_order_seed(unsigned seed) {
  order_seed = seed;
  running.reset();
}

std::uint64_t kernels_run() { return kernels; }

std::vector<Kernel> take_kernels_seen() {
  const std::lock_guard lock(seen_mutex);
  std::vector<Kernel> all;
  for (const auto& [address, kernel] : std::exchange(seen, {})) all.push_back(kernel);
  return all;
}

void break_kernel(const Kernel& kernel) { broken = kernel.address; }

void run_grid(const Kernel& kernel, std::int64_t blocks, int threads, void (*body)(void*),
              void* context) {
  check(threads >= 1 && threads <= most_threads && blocks >= 1 && blocks < (std::int64_t{1} << 31),
        "GPU: {} blocks of {} threads cannot be launched", blocks, threads);
  ++kernels;
  note(kernel);
  const races::Unwatched scheduling;
  if (running == nullptr) running = std::make_unique<Block>();
  place() = {{}, {}, {static_cast<unsigned>(threads), 1, 1}, {static_cast<unsigned>(blocks), 1, 1}};
  try {
    const std::int64_t end = kernel.address == broken ? blocks - 1 : blocks;
    running->begin_grid();
    for (std::int64_t i = 0; i < end; ++i) {
      place().block.x = static_cast<unsigned>(i);
      running->run(threads, body, context);
    }
    running->end_grid();
  } catch (...) {
    running->end_grid();
    running.reset();  // with the stacks of the threads that will never end
    throw;
  }
}

Given meet(unsigned mask, Collective operation, std::uint64_t value) {
  return block().meet(mask, operation, value);
}

int lane() { return block().current() % warp_size; }

void meet_block() { block().meet_block(); }

}  // namespace skep::simulated
