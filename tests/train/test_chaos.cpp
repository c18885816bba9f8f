// Chaotic sharding as an order: who meets what in an epoch and how often, what a batch holds of it,
// and why one seed must deal for all.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "train/data/loader.h"

using namespace skep;
using Ids = std::vector<std::int32_t>;

namespace {

using Kind = Draw::Kind;

ChaosOrder deal(std::uint64_t seed, std::int64_t windows, std::int64_t ranks, double fraction) {
  return ChaosOrder({seed, windows, 1, ranks, fraction});
}

/// What a rank meets in an epoch, in its order.
std::vector<Draw> met_by(const ChaosOrder& order, std::int64_t rank, std::int64_t ranks,
                         std::int64_t epoch) {
  std::vector<Draw> met;
  for (std::int64_t turn = epoch * order.quota(); turn < (epoch + 1) * order.quota(); ++turn)
    met.push_back(order.at(turn * ranks + rank));
  return met;
}

std::vector<std::int64_t> windows_of(const std::vector<Draw>& met, Kind kind) {
  std::vector<std::int64_t> windows;
  for (const Draw& draw : met)
    if (draw.kind == kind) windows.push_back(draw.window);
  return windows;
}

std::set<std::int64_t> as_set(const std::vector<std::int64_t>& windows) {
  return {windows.begin(), windows.end()};
}

/// 98 tokens that tell their position, in windows of 4: 97 targets, 26 windows at any shift.
Dataset counting() {
  Ids ids(98);
  std::iota(ids.begin(), ids.end(), 100);
  return {TokenStream::from_ids(ids), 4};
}

}  // namespace

TEST_CASE("chaos: a pool and quotas by hand, q = D / (c + N (1 - c))") {
  struct Case {
    std::int64_t windows, ranks;
    double fraction;
    std::int64_t common, quota;
  };
  for (const Case& c : std::vector<Case>{
           {1000, 4, 0.1, 28, 271},           // q 270.3, c q 27.0; a pool of 28 leaves 4 × 243
           {1000, 4, 100.0 / 325, 100, 325},  // a tenth of the data on all: 31 % of a rank's work
           {169, 3, 0.3, 22, 71},             // q 70.4, c q 21.1; 22 = 1 + 7 × 3
           {10, 4, 0, 2, 4},                  // what does not divide is common
           {3, 5, 0, 3, 3},                   // fewer windows than ranks
           {100, 1, 0.5, 50, 100},
       }) {
    INFO(c.windows << " windows, " << c.ranks << " ranks, fraction " << c.fraction);
    const ChaosOrder order = deal(1, c.windows, c.ranks, c.fraction);
    CHECK(order.common() == c.common);
    CHECK(order.quota() == c.quota);
    CHECK(order.epoch_samples() == c.ranks * c.quota);
    CHECK(order.common_weight() == 1.0 / static_cast<double>(c.ranks));
  }
}

TEST_CASE("chaos: private shards are disjoint and cover the rest, the pool is on every rank") {
  for (const std::int64_t windows : {3, 5, 100, 169})
    for (const std::int64_t ranks : {1, 2, 3, 5})
      for (const double fraction : {0.0, 0.1, 0.5, 0.9}) {
        INFO(windows << " windows, " << ranks << " ranks, fraction " << fraction);
        const ChaosOrder order = deal(3, windows, ranks, fraction);
        std::vector<std::int64_t> times(static_cast<std::size_t>(windows));  // N of them weigh 1
        const auto pool = as_set(windows_of(met_by(order, 0, ranks, 1), Kind::common));
        REQUIRE(std::ssize(pool) == order.common());
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          const auto met = met_by(order, rank, ranks, 1);
          CHECK(as_set(windows_of(met, Kind::common)) == pool);
          for (const Draw& draw : met)
            times[static_cast<std::size_t>(draw.window)] += draw.kind == Kind::common ? 1 : ranks;
        }
        // Every window weighs one, so that the weights of an epoch add up to D.
        CHECK(times == std::vector<std::int64_t>(static_cast<std::size_t>(windows), ranks));
        const double c = fraction, n = static_cast<double>(ranks);
        const double wanted = c * static_cast<double>(windows) / (c + n * (1 - c));
        CHECK(std::abs(static_cast<double>(order.common()) - wanted) <= std::max(n / 2, n - 1));
      }
}

TEST_CASE("chaos: epochs, seeds and ranks have orders of their own, the same each time") {
  const auto met = [](std::uint64_t seed, std::int64_t rank, std::int64_t epoch) {
    return met_by(deal(seed, 100, 4, 0.5), rank, 4, epoch);
  };
  const auto common = [](const std::vector<Draw>& draws) {
    return windows_of(draws, Kind::common);
  };
  const auto own = [](const std::vector<Draw>& draws) { return windows_of(draws, Kind::own); };
  const auto first = met(3, 0, 0);
  CHECK(common(first) == common(met(3, 0, 0)));
  CHECK(own(first) == own(met(3, 0, 0)));
  CHECK(as_set(common(first)) != as_set(common(met(3, 0, 1))));
  CHECK(as_set(own(first)) != as_set(own(met(3, 0, 1))));
  CHECK(as_set(common(first)) != as_set(common(met(4, 0, 0))));
  CHECK(common(first) != common(met(3, 1, 0)));  // the same pool, shuffled by rank
  std::vector<Kind> kinds, other_kinds;
  for (const Draw& draw : first) kinds.push_back(draw.kind);
  for (const Draw& draw : met(3, 1, 0)) other_kinds.push_back(draw.kind);
  CHECK(kinds != other_kinds);
}

TEST_CASE("chaos: seeds of the ranks' own overlap and miss windows; one seed does neither") {
  constexpr std::int64_t windows = 1000, ranks = 4;
  const auto times_met = [&](const std::vector<std::uint64_t>& seed_of_rank) {
    std::map<std::int64_t, int> times;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      for (const Draw& draw :
           met_by(deal(seed_of_rank[static_cast<std::size_t>(rank)], windows, ranks, 0), rank,
                  ranks, 0))
        ++times[draw.window];
    return times;
  };
  CHECK(std::ssize(times_met({7, 7, 7, 7})) == windows);
  // Four independent quarters meet 1 - (3/4)^4 = 68.4 % of the data; 5 deviations are 74 windows.
  const auto apart = times_met({7, 8, 9, 10});
  CHECK(std::abs(static_cast<double>(apart.size()) - 683.6) < 74);
}

TEST_CASE("chaos: micro-batches of an epoch hold every target with a weight of one") {
  const Dataset data = counting();
  // 26 windows on 3 ranks: q = 11.8, c q = 4.7, a pool of 5 leaves 3 × 7.
  for (const auto& [micro, accumulation] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 4}, {2, 2}, {4, 1}, {3, 4}}) {
    INFO("micro-batches of " << micro);
    const BatchSplit split{3, micro, accumulation};
    const std::int64_t G = split.global_batch();
    std::map<std::int32_t, std::int64_t> thirds;  // by target
    std::set<std::int64_t> samples;
    double counted = 0;
    for (std::int64_t position = 36; position < 72; position += G)  // the second epoch
      for (std::int64_t rank = 0; rank < 3; ++rank) {
        Loader loader(data, 5, split, rank);
        loader.deal(9, 0.4);
        REQUIRE(loader.epoch_samples() == 36);
        for (std::int64_t index = 0; index < accumulation; ++index) {
          const Batch batch = loader.micro_batch(position, index);
          REQUIRE(batch.common_weight == 1.0 / 3);
          std::int64_t in_common_rows = 0;
          for (std::int64_t i = 0; i < batch.B * batch.T; ++i) {
            const bool common = i / batch.T >= batch.B - batch.common_rows;
            const std::int32_t target = batch.targets[static_cast<std::size_t>(i)];
            if (target == ignored_target) continue;
            thirds[target] += common ? 1 : 3;
            in_common_rows += common ? 1 : 0;
          }
          CHECK(batch.common_targets == in_common_rows);
          counted += batch.counted_targets();
          samples.insert(batch.samples.begin(), batch.samples.end());
        }
      }
    CHECK(thirds.size() == 97);
    for (const auto& [target, weight] : thirds) CHECK(weight == 3);
    CHECK(counted == Approx(97).epsilon(1e-12));
    CHECK(samples.size() == 36);  // numbers that dropout can go by
    CHECK(*samples.begin() == 36);
  }
}

TEST_CASE("chaos: what a rank meets next does not depend on the batch's size") {
  const Dataset data = counting();
  const auto first_dozen = [&](const BatchSplit& split) {
    Loader loader(data, 5, split, 1);
    loader.deal(9, 0.4);
    std::multiset<Ids> rows;
    for (std::int64_t position = 0; position < 36; position += split.global_batch())
      for (std::int64_t index = 0; index < split.accumulation; ++index) {
        const Batch batch = loader.micro_batch(position, index);
        for (auto row = batch.targets.begin(); row != batch.targets.end(); row += 4)
          rows.insert(Ids(row, row + 4));
      }
    return rows;
  };
  const auto one_by_one = first_dozen({3, 1, 1});
  CHECK(one_by_one.size() == 12);
  CHECK(first_dozen({3, 2, 2}) == one_by_one);
  CHECK(first_dozen({3, 6, 1}) == one_by_one);
}
