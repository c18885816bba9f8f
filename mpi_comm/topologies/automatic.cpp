#include "mpi_comm/topologies/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace skep {
namespace {

// Plans of so many ranks stand for all: roots and leaders are among the first.
constexpr int priced_ranks = 16;

double price_first_ranks(const Topology& topology, Collective collective, int size,
                         std::size_t count, const LinkCosts& costs) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < std::min(size, priced_ranks); ++rank)
    plans.push_back(plan_of(topology, collective, {.rank = rank, .size = size}, count));
  return price(plans, sizeof(float), costs);
}

Place place_of(const Group& group) { return {.rank = group.position, .size = group.size()}; }

}  // namespace

Automatic::Automatic(const LinkCosts& costs, const TopologySettings& settings) : costs_(costs) {
  for (const std::string& name : topology_names())
    candidates_.push_back(make_topology(name, settings));
}

std::string Automatic::note(int size) const {
  if (size == 1) return {};
  std::string text = to_string(costs_), last;
  constexpr std::size_t largest_bytes = std::size_t{1} << 30;
  for (std::size_t bytes = 1 << 10; bytes <= largest_bytes; bytes *= 2) {
    const std::string_view name =
        choose(Collective::all_reduce, size, bytes / sizeof(float)).name();
    if (name == last) continue;
    text += last.empty() ? fmt::format("; {}", name)
                         : fmt::format(", from {} KiB {}", bytes >> 10, name);
    last = name;
  }
  return text;
}

const Topology& Automatic::choose(Collective collective, int size, std::size_t count) const {
  const auto [entry, is_new] = chosen_.try_emplace({collective, size, count}, nullptr);
  if (is_new) entry->second = &cheapest(collective, size, count);
  return *entry->second;
}

const Topology& Automatic::cheapest(Collective collective, int size, std::size_t count) const {
  const Topology* best = candidates_.front().get();
  double least = std::numeric_limits<double>::infinity();
  for (const auto& candidate : candidates_) {
    if (candidate->reach(size) != Reach::global) continue;
    const double seconds = price_first_ranks(*candidate, collective, size, count, costs_);
    if (seconds >= least) continue;
    least = seconds;
    best = candidate.get();
  }
  return *best;
}

// The group is everybody: positions are ranks.
Plan Automatic::plan_all_reduce(const Group& group, std::size_t count) const {
  return choose(Collective::all_reduce, group.size(), count).all_reduce(place_of(group), count);
}

Plan Automatic::plan_reduce_scatter(const Group& group, std::size_t count) const {
  return choose(Collective::reduce_scatter, group.size(), count)
      .reduce_scatter(place_of(group), count);
}

Plan Automatic::plan_all_gather(const Group& group, const std::vector<Range>& blocks) const {
  std::vector<std::size_t> counts;
  for (const Range& block : blocks) counts.push_back(block.size());
  return choose(Collective::all_gather, group.size(), blocks.back().end)
      .all_gather(place_of(group), counts);
}

Plan Automatic::plan_broadcast(const Group& group, int root, std::size_t count) const {
  return choose(Collective::broadcast, group.size(), count).broadcast(place_of(group), root, count);
}

}  // namespace skep
