#include <rapidcheck.h>
// After rapidcheck.h.
#include <rapidcheck/catch.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "tests/train/helpers.h"
#include "train/data/loader.h"

using namespace skep;
using Ids = std::vector<std::int32_t>;

namespace {

/// Tokens 100, 101, …: a token tells its position.
TokenStream counting(std::int64_t count) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 100);
  return TokenStream::from_ids(ids);
}

std::vector<std::int64_t> order_of(std::uint64_t seed, std::uint64_t epoch, std::int64_t n) {
  const Permutation permutation(seed, epoch, n);
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < n; ++i) order.push_back(permutation(i));
  return order;
}

bool is_bijection(std::vector<std::int64_t> order) {
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

}  // namespace

TEST_CASE("dataset: windows cover every target exactly once") {
  const Dataset data(counting(8), 3);  // 7 targets: 3 + 3 + 1
  CHECK(data.windows() == 3);
  CHECK(data.targets() == 7);
  Ids inputs(3), targets(3);
  CHECK(data.fill(0, inputs, targets) == 3);
  CHECK(inputs == Ids{100, 101, 102});
  CHECK(targets == Ids{101, 102, 103});
  CHECK(data.fill(2, inputs, targets) == 1);
  CHECK(inputs == Ids{106, 0, 0});
  CHECK(targets == Ids{107, -1, -1});
}

TEST_CASE("dataset: numbers of windows at the edges") {
  CHECK(Dataset(counting(7), 3).windows() == 2);  // 6 targets fit exactly
  CHECK(Dataset(counting(2), 3).windows() == 1);
  CHECK(Dataset(counting(1), 3).windows() == 0);
  CHECK(Dataset(TokenStream(), 3).windows() == 0);
  CHECK(Dataset().windows() == 0);
  CHECK(Dataset(counting(1'003'854), 64).windows() == 15'686);  // ceil(1003853 / 64)
  Ids room(3), small(2);
  CHECK_THROWS_AS(Dataset(counting(7), 3).fill(3, room, room), Error);
  CHECK_THROWS_AS(Dataset(counting(7), 3).fill(0, room, small), Error);
}

TEST_CASE("shuffle: every order is a bijection") {
  for (const std::int64_t n :
       {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 64, 65, 97, 256, 257, 1000, 4096, 4097, 10007, 65537})
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      INFO(n << " elements, epoch " << epoch);
      REQUIRE(is_bijection(order_of(1337, epoch, n)));
    }
}

TEST_CASE("shuffle: huge ranges need no memory") {
  const std::int64_t n = (std::int64_t{1} << 61) + 3;
  const Permutation permutation(1, 2, n);
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const std::int64_t value = permutation(n - 1 - i);
    REQUIRE(value >= 0);
    REQUIRE(value < n);
    seen.insert(value);
  }
  CHECK(seen.size() == 1000);
}

TEST_CASE("SAME-SHUFFLE: three epochs are three orders, each a function of seed and epoch") {
  const auto first = order_of(7, 0, 100), second = order_of(7, 1, 100), third = order_of(7, 2, 100);
  CHECK(first != second);
  CHECK(second != third);
  CHECK(first != third);
  CHECK(order_of(7, 1, 100) == second);
  CHECK(order_of(8, 0, 100) != first);
  // Through the endless sequence of samples: epoch e of n = 100 is samples 100e … 100e + 99.
  const GlobalOrder order{7, 100};
  for (std::int64_t i = 0; i < 100; ++i) {
    REQUIRE(order.window(i) == first[static_cast<std::size_t>(i)]);
    REQUIRE(order.window(100 + i) == second[static_cast<std::size_t>(i)]);
    REQUIRE(order.window(200 + i) == third[static_cast<std::size_t>(i)]);
  }
  CHECK(order.epoch(99) == 0);
  CHECK(order.epoch(100) == 1);
}

TEST_CASE("shuffle: orders look random") {
  // 3 elements: the 6 orders over 6000 epochs, 5 degrees of freedom; chi² > 20.5 has p = 0.001.
  std::map<std::vector<std::int64_t>, int> seen;
  for (std::uint64_t epoch = 0; epoch < 6000; ++epoch) ++seen[order_of(1, epoch, 3)];
  REQUIRE(seen.size() == 6);
  double chi_square = 0;
  for (const auto& [order, count] : seen) chi_square += (count - 1000.0) * (count - 1000.0) / 1000;
  CHECK(chi_square < 20.5);
  // 10 elements: where element 0 goes, 9 degrees of freedom; chi² > 27.9 has p = 0.001.
  std::vector<double> places(10);
  for (std::uint64_t epoch = 0; epoch < 10000; ++epoch)
    ++places[static_cast<std::size_t>(Permutation(2, epoch, 10)(0))];
  chi_square = 0;
  for (const double count : places) chi_square += (count - 1000) * (count - 1000) / 1000;
  CHECK(chi_square < 27.9);
  // 1000 elements: neighbours stay neighbours (i -> i + 1) about once an order, not often.
  int neighbours = 0;
  for (std::uint64_t epoch = 0; epoch < 100; ++epoch) {
    const auto order = order_of(3, epoch, 1000);
    for (std::size_t i = 1; i < order.size(); ++i) neighbours += order[i] == order[i - 1] + 1;
  }
  CHECK(neighbours > 60);  // Poisson with mean 99.9, 4 standard deviations
  CHECK(neighbours < 140);
}

TEST_CASE("loader: any number of ranks and micro-batches sees the same global batches") {
  const Dataset data(counting(100), 4);  // 25 windows: 12 samples a step cross epochs
  const auto run = [&](std::int64_t ranks, std::int64_t micro_batch) {
    const BatchSplit split = split_batch({12, micro_batch}, ranks);
    std::vector<std::int64_t> samples;
    Ids inputs, targets;
    for (std::int64_t position = 0; position < 60; position += 12)
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const Loader loader(data, 1337, split, rank);
        for (std::int64_t index = 0; index < split.accumulation; ++index) {
          const Batch batch = loader.micro_batch(position, index);
          REQUIRE(batch.B == split.micro_batch);
          REQUIRE(batch.T == 4);
          samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
          inputs.insert(inputs.end(), batch.inputs.begin(), batch.inputs.end());
          targets.insert(targets.end(), batch.targets.begin(), batch.targets.end());
        }
      }
    return std::tuple(samples, inputs, targets);
  };
  const auto single = run(1, 12);
  for (std::int64_t i = 0; i < 60; ++i)
    REQUIRE(std::get<0>(single)[static_cast<std::size_t>(i)] == i);
  for (const auto& [ranks, micro] :
       {std::pair{1, 1}, {1, 4}, {2, 1}, {2, 6}, {3, 2}, {4, 3}, {12, 1}})
    CHECK((run(ranks, micro) == single));
}

TEST_CASE("dataset: shifted windows cover every target exactly once") {
  for (std::int64_t tokens = 2; tokens < 12; ++tokens)
    for (std::int64_t context : {1, 3, 4})
      for (std::int64_t shift = 0; shift < context; ++shift) {
        const Dataset data(counting(tokens), context);
        Ids inputs(context), targets(context), seen;
        for (std::int64_t w = 0; w < data.shifted_windows(); ++w) {
          const std::int64_t valid = data.fill(w, inputs, targets, shift);
          for (std::int64_t i = 0; i < context; ++i) {
            REQUIRE((targets[i] == ignored_target) == (i >= valid));
            if (i < valid) REQUIRE(targets[i] == inputs[i] + 1);
            if (i < valid) seen.push_back(targets[i]);
          }
        }
        REQUIRE(std::ssize(seen) == tokens - 1);
        for (std::size_t i = 0; i < seen.size(); ++i) REQUIRE(seen[i] == 101 + static_cast<int>(i));
      }
}

TEST_CASE("loader: every epoch holds every target once, cut at another place") {
  const Dataset data(counting(98), 4);  // 97 targets, 26 windows at any shift
  const Loader loader(data, 5, split_batch({13, 0}, 1), 0);
  std::set<std::int64_t> shifts;
  for (std::int64_t sample = 0; sample < 26 * 40; sample += 26)
    shifts.insert(loader.order().shift(sample));
  CHECK(shifts == std::set<std::int64_t>{0, 1, 2, 3});
  for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
    Ids targets;
    std::int64_t valid = 0;
    for (std::int64_t position = 26 * epoch; position < 26 * (epoch + 1); position += 13) {
      const Batch batch = loader.micro_batch(position, 0);
      valid += batch.valid_targets;
      for (const std::int32_t target : batch.targets)
        if (target != ignored_target) targets.push_back(target);
    }
    CHECK(valid == 97);
    std::sort(targets.begin(), targets.end());
    REQUIRE(targets.size() == 97);
    for (std::size_t i = 0; i < targets.size(); ++i)
      REQUIRE(targets[i] == 101 + static_cast<int>(i));
  }
}

TEST_CASE("loader: each epoch holds each sample once at any number of ranks, uneven tails too") {
  rc::prop("epochs without and with data.drop_last", [] {
    const auto tokens = *rc::gen::inRange<std::int64_t>(2, 120);
    const auto context = *rc::gen::inRange<std::int64_t>(1, 6);
    const auto ranks = *rc::gen::inRange<std::int64_t>(1, 8);
    const auto micro = *rc::gen::inRange<std::int64_t>(1, 4);
    const BatchSplit split{ranks, micro, *rc::gen::inRange<std::int64_t>(1, 4)};
    const std::int64_t G = split.global_batch();
    const Dataset data(counting(tokens), context);
    const std::int64_t windows = data.shifted_windows();
    const LastBatch last = *rc::gen::element(LastBatch::shared_by_epochs, LastBatch::dropped);
    const std::int64_t epoch = last == LastBatch::dropped ? windows / G * G : windows;
    RC_PRE(epoch > 0);
    // What all ranks saw, by sample: its targets.
    std::map<std::int64_t, Ids> seen;
    for (std::int64_t position = 0; position < 3 * epoch; position += G)
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const Loader loader(data, 11, split, rank, last);
        for (std::int64_t index = 0; index < split.accumulation; ++index) {
          const Batch batch = loader.micro_batch(position, index);
          for (std::int64_t row = 0; row < batch.B; ++row) {
            const auto begin = batch.targets.begin() + row * context;
            const bool fresh = seen.emplace(batch.samples[row], Ids(begin, begin + context)).second;
            RC_ASSERT(fresh);
          }
          if (last == LastBatch::dropped)
            RC_ASSERT(batch.samples.front() / epoch == position / epoch);
        }
      }
    for (std::int64_t number = 0; number < 3; ++number) {
      std::set<std::int32_t> targets;
      std::int64_t valid = 0;
      for (std::int64_t sample = number * epoch; sample < (number + 1) * epoch; ++sample)
        for (const std::int32_t target : seen.at(sample))
          if (target != ignored_target) ++valid, targets.insert(target);
      RC_ASSERT(std::ssize(targets) == valid);  // none twice
      const std::int64_t missed = (windows - epoch) * context;
      RC_ASSERT(valid <= tokens - 1 && valid >= tokens - 1 - missed);
    }
  });
}

TEST_CASE("loader: drop_last leaves out other windows in each epoch, and needs one batch") {
  const Dataset data(counting(98), 4);  // 26 windows at any shift
  const Loader loader(data, 5, split_batch({8, 0}, 1), 0, LastBatch::dropped);
  CHECK(loader.order().epoch_samples() == 24);
  CHECK(loader.order().epoch(23) == 0);
  CHECK(loader.order().epoch(24) == 1);
  std::set<std::vector<std::int64_t>> orders, left_out;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < 24; ++i) order.push_back(loader.order().window(24 * epoch + i));
    orders.insert(order);
    std::vector<std::int64_t> missing;
    for (std::int64_t window = 0; window < 26; ++window)
      if (std::ranges::find(order, window) == order.end()) missing.push_back(window);
    REQUIRE(missing.size() == 2);
    left_out.insert(missing);
  }
  CHECK(orders.size() == 3);
  CHECK(left_out.size() == 3);
  CHECK(error_of(ErrorKind::usage,
                 [&] {
                   Loader(data, 5, split_batch({27, 0}, 1), 0, LastBatch::dropped);
                 }) ==
        "data.drop_last leaves nothing to train on: an epoch has 26 windows, batch.global_batch is "
        "27; use more data, a smaller batch, or data.drop_last = false");
}

TEST_CASE("rank_slice: slices join without gaps") {
  CHECK(rank_slice({10, 12}, 1, 4).first == 13);
  CHECK(rank_slice({10, 12}, 1, 4).count == 3);
  for (std::int64_t count = 0; count < 20; ++count)
    for (std::int64_t ranks = 1; ranks < 8; ++ranks) {
      std::int64_t next = 3;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const Slice slice = rank_slice({3, count}, rank, ranks);
        REQUIRE(slice.first == next);
        REQUIRE((slice.count == count / ranks || slice.count == count / ranks + 1));
        next += slice.count;
      }
      REQUIRE(next == 3 + count);
    }
}

TEST_CASE("evaluation: every window exactly once, in order, at any number of ranks") {
  const Dataset data(counting(98), 4);  // 25 windows
  for (const std::int64_t ranks : {1, 2, 3, 4, 5, 7, 30}) {
    std::vector<std::int64_t> windows;
    std::int64_t valid = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const EvaluationLoader loader(data, 25, 4, rank, ranks);
      for (std::int64_t index = 0; index < loader.batches(); ++index) {
        const Batch batch = loader.batch(index);
        REQUIRE(batch.B >= 1);
        REQUIRE(batch.B <= 4);
        REQUIRE(batch.inputs.size() == static_cast<std::size_t>(batch.B * 4));
        windows.insert(windows.end(), batch.samples.begin(), batch.samples.end());
        valid += batch.valid_targets;
      }
    }
    INFO(ranks << " ranks");
    CHECK(windows.size() == 25);
    CHECK(is_bijection(windows));
    CHECK(std::is_sorted(windows.begin(), windows.end()));
    CHECK(valid == 97);
  }
}

TEST_CASE("evaluation: eval_batches counts global batches") {
  const Dataset data(counting(98), 4);  // 25 windows
  CHECK(evaluation_windows(data, 0, 12) == 25);
  CHECK(evaluation_windows(data, 1, 12) == 12);
  CHECK(evaluation_windows(data, 2, 12) == 24);
  CHECK(evaluation_windows(data, 3, 12) == 25);
  CHECK(evaluation_windows(data, std::numeric_limits<std::int64_t>::max(), 12) == 25);
  CHECK(evaluation_windows(Dataset(), 0, 12) == 0);
}
