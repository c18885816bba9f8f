#include "mpi_comm/topology.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/shifts.h"

namespace skep {
namespace {

using Registry = std::map<std::string, TopologyEntry::Make, std::less<>>;

// A function's static: ready whichever file's entries are initialised first.
Registry& registry() {
  static Registry topologies;
  return topologies;
}

// Blocks of these sizes side by side, from element `begin` on.
std::vector<Range> side_by_side(std::span<const std::size_t> counts, std::size_t begin = 0) {
  std::vector<Range> blocks;
  for (const std::size_t count : counts) {
    blocks.push_back({begin, begin + count});
    begin += count;
  }
  return blocks;
}

}  // namespace

Range part(std::size_t count, int index, int parts) {
  // quotient and remainder instead of count * index / parts: no overflow for huge counts
  const std::size_t n = static_cast<std::size_t>(parts), i = static_cast<std::size_t>(index);
  const std::size_t least = count / n, longer = count % n;
  const std::size_t begin = i * least + std::min(i, longer);
  return {begin, begin + least + (i < longer ? 1 : 0)};
}

std::vector<Range> parts_of(std::size_t count, int parts) {
  std::vector<Range> ranges;
  ranges.reserve(static_cast<std::size_t>(parts));
  for (int i = 0; i < parts; ++i) ranges.push_back(part(count, i, parts));
  return ranges;
}

std::vector<std::vector<int>> Topology::groups(const Place& at) const {
  std::vector<int> everybody(static_cast<std::size_t>(at.size));
  std::iota(everybody.begin(), everybody.end(), 0);
  return {everybody};
}

Reach Topology::reach(int size) const {
  return groups({.rank = 0, .size = size}).size() == 1 ? Reach::global : Reach::partial;
}

Group Topology::group(const Place& at) const {
  for (auto& ranks : groups(at)) {
    const auto found = std::find(ranks.begin(), ranks.end(), at.rank);
    if (found == ranks.end()) continue;
    const int position = static_cast<int>(found - ranks.begin());
    return {std::move(ranks), position, at.step};
  }
  comm_fail(CommFailure::bug, "topology {}: rank {} of {} is in no group at step {}", name(),
            at.rank, at.size, at.step);
}

Plan Topology::all_reduce(const Place& at, std::size_t count) const {
  const Group own = group(at);
  return labelled(own.size() > 1 ? plan_all_reduce(own, count) : Plan{}, own, "all_reduce");
}

Plan Topology::reduce_scatter(const Place& at, std::size_t count) const {
  const Group own = group(at);
  return labelled(own.size() > 1 ? plan_reduce_scatter(own, count) : Plan{}, own, "reduce_scatter");
}

Plan Topology::all_gather(const Place& at, std::span<const std::size_t> counts) const {
  const Group own = group(at);
  comm_check(counts.size() == own.ranks.size(),
             "topology {}: all_gather got {} counts for a group of {} ranks", name(), counts.size(),
             own.size());
  return labelled(own.size() > 1 ? plan_all_gather(own, side_by_side(counts)) : Plan{}, own,
                  "all_gather");
}

Plan Topology::broadcast(const Place& at, int root, std::size_t count) const {
  const Group own = group(at);
  const auto found = std::find(own.ranks.begin(), own.ranks.end(), root);
  comm_check(found != own.ranks.end(),
             "topology {}: broadcast from rank {}, not in the group of {}", name(), root, at.rank);
  const int position = static_cast<int>(found - own.ranks.begin());
  Plan plan = own.size() > 1 ? plan_broadcast(own, position, count) : Plan{};
  plan.root = root;
  return labelled(std::move(plan), own, "broadcast");
}

Plan Topology::all_to_all(const Place& at, std::span<const std::size_t> send_counts,
                          std::span<const std::size_t> receive_counts) const {
  const Group own = group(at);
  comm_check(send_counts.size() == own.ranks.size() && receive_counts.size() == own.ranks.size(),
             "topology {}: all_to_all got {} and {} counts for a group of {} ranks", name(),
             send_counts.size(), receive_counts.size(), own.size());
  const std::vector<Range> sends = side_by_side(send_counts);
  const std::vector<Range> receives = side_by_side(receive_counts, sends.back().end);
  Plan plan = labelled(plan_all_to_all(own, sends, receives), own, "all_to_all");
  plan.numbering = Numbering::own;
  return plan;
}

Plan Topology::plan_all_to_all(const Group& group, const std::vector<Range>& sends,
                               const std::vector<Range>& receives) const {
  return exchange(group, 1, sends, receives);
}

Plan Topology::labelled(Plan plan, const Group& group, std::string_view operation) const {
  if (plan.topology.empty()) plan.topology = name();  // or whoever made it for this one
  plan.operation = operation;
  plan.participants = group.size();
  plan.group = group.ranks;
  plan.step = group.step;
  return plan;
}

std::unique_ptr<Topology> make_topology(std::string_view name, const TopologySettings& settings) {
  const auto found = registry().find(name);
  if (found == registry().end())
    comm_fail(CommFailure::usage, "unknown topology \"{}\": choose one of {}", name,
              fmt::join(topology_names(), ", "));
  return found->second(settings);
}

std::vector<std::string> topology_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : registry()) names.push_back(name);
  return names;
}

TopologyEntry::TopologyEntry(std::string name, Make make) {
  registry().emplace(std::move(name), make);
}

}  // namespace skep
