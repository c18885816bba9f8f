// Batches made ahead by threads: the same ones, no more of them than asked for, no error lost, and
// the time spent waiting told. Latches and a clock that is set by hand take the place of time.
#include <atomic>
#include <barrier>
#include <latch>
#include <set>

#include "tests/train/helpers.h"
#include "train/data/prefetcher.h"

using namespace skep;

namespace {

constexpr BatchSplit three_micro_batches{1, 2, 3};  // global batches of 6

/// A batch that says where it was made.
void note_place(std::int64_t position, std::int64_t index, Batch& batch) {
  batch.samples = {position, index};
}

std::vector<std::int64_t> take(Prefetcher& batches, std::int64_t position, std::int64_t index) {
  return batches.micro_batch(position, index).samples;
}

}  // namespace

TEST_CASE("prefetcher: every number of workers gives the same batches in the same order") {
  for (const std::int64_t workers : {0, 1, 3})
    for (const std::int64_t depth : {1, 2, 5}) {
      INFO(workers << " workers, depth " << depth);
      Prefetcher batches(note_place, three_micro_batches, {workers, depth});
      for (std::int64_t position = 12; position < 12 + 6 * 50; position += 6)
        for (std::int64_t index = 0; index < 3; ++index)
          REQUIRE(take(batches, position, index) == std::vector{position, index});
      // Elsewhere, as after a restart: from there on.
      REQUIRE(take(batches, 600, 1) == std::vector<std::int64_t>{600, 1});
      REQUIRE(take(batches, 600, 2) == std::vector<std::int64_t>{600, 2});
      REQUIRE(take(batches, 606, 0) == std::vector<std::int64_t>{606, 0});
    }
}

TEST_CASE("prefetcher: as many batches are made ahead as data.prefetch says, and no more") {
  for (const std::int64_t depth : {1, 3}) {
    std::atomic<std::int64_t> made = 0, in_use = -1;
    std::atomic<bool> too_far = false;
    const auto make = [&](std::int64_t position, std::int64_t, Batch&) {
      if (position > in_use.load() + depth) too_far = true;
      ++made;
      made.notify_all();
    };
    Prefetcher batches(make, {1, 1, 1}, {2, depth});
    for (std::int64_t position = 0; position < 20; ++position) {
      in_use = position;  // may be made ahead from the moment it is asked for
      batches.micro_batch(position, 0);
      for (std::int64_t seen = made; seen < position + 1 + depth; seen = made) made.wait(seen);
    }
    CHECK_FALSE(too_far);
    CHECK(made == 20 + depth);
  }
}

TEST_CASE("prefetcher: as many batches are made at once as there are workers") {
  std::barrier together(3);  // nobody passes before three have come
  const auto make = [&](std::int64_t position, std::int64_t, Batch&) {
    if (position < 3) together.arrive_and_wait();
  };
  Prefetcher batches(make, {1, 1, 1}, {3, 4});
  for (std::int64_t position = 0; position < 9; ++position)
    CHECK_NOTHROW(batches.micro_batch(position, 0));
}

TEST_CASE("prefetcher: buffers are used again") {
  std::mutex mutex;
  std::set<const Batch*> buffers;
  const auto make = [&](std::int64_t, std::int64_t, Batch& batch) {
    const std::lock_guard lock(mutex);
    buffers.insert(&batch);
  };
  Prefetcher batches(make, {1, 1, 1}, {2, 3});
  for (std::int64_t position = 0; position < 50; ++position) batches.micro_batch(position, 0);
  CHECK(buffers.size() == 4);  // three ahead and one in use
}

TEST_CASE("prefetcher: an error comes out where its batch is asked for, with its exit code") {
  const auto make = [](std::int64_t position, std::int64_t, Batch&) {
    if (position == 7) fail(ErrorKind::data, "shard 3: token 9 at position 5");
  };
  for (const std::int64_t workers : {0, 1, 3}) {
    Prefetcher batches(make, {1, 1, 1}, {workers, 4});
    for (std::int64_t position = 0; position < 7; ++position)
      REQUIRE_NOTHROW(batches.micro_batch(position, 0));
    for (int again = 0; again < 2; ++again)
      CHECK(error_of(ErrorKind::data, [&] { batches.micro_batch(7, 0); }) ==
            "shard 3: token 9 at position 5");
  }
}

TEST_CASE("prefetcher: it ends while batches are being made and while all are ready") {
  for (const std::int64_t taken : {0, 1, 5})
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::atomic<int> running = 0;
      {
        Prefetcher batches(
            [&](std::int64_t, std::int64_t, Batch&) {
              ++running;
              std::this_thread::yield();
              --running;
            },
            {1, 1, 1}, {3, 2});
        for (std::int64_t position = 0; position < taken; ++position)
          batches.micro_batch(position, 0);
      }
      CHECK(running == 0);
    }
}

TEST_CASE("prefetcher: time is counted while a batch is not there, and not when it is") {
  // The clock stands still but for 5 seconds that go by while batch 0 is made, after it was asked
  // for; batch 1 is asked for when it lies ready.
  double now = 100;
  std::latch asked(1), second_made(1);
  std::atomic<bool> first = true;
  const auto clock = [&] {
    if (first.exchange(false)) asked.count_down();
    return now;
  };
  const auto make = [&](std::int64_t position, std::int64_t, Batch&) {
    if (position == 0) asked.wait();
    if (position == 0) now += 5;
    if (position == 1) second_made.count_down();
  };
  Prefetcher batches(make, {1, 1, 1}, {1, 1}, clock);
  batches.micro_batch(0, 0);
  CHECK(batches.waited_seconds() == 5);
  second_made.wait();
  batches.micro_batch(1, 0);
  CHECK(batches.waited_seconds() == 5);
}
