#include "mpi_comm/topologies/tree.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace skep {
namespace {

const TopologyEntry entry{"tree", without_settings<Tree>};

int levels(const Group& group) { return std::bit_width(static_cast<unsigned>(group.size() - 1)); }

// At the level of stride s, odd multiples of s (counted from the root) hang below the node s
// before.
struct Edges {
  std::optional<int> parent, child;  // distances from the root
};
Edges edges(int distance, int stride, int size) {
  Edges found;
  if (distance % (2 * stride) == stride) found.parent = distance - stride;
  if (distance % (2 * stride) == 0 && distance + stride < size) found.child = distance + stride;
  return found;
}

// The blocks of the subtree of `node` below the level of `stride` lie side by side.
Range subtree(const std::vector<Range>& blocks, int node, int stride) {
  const std::size_t last = std::min(static_cast<std::size_t>(node + stride), blocks.size()) - 1;
  return {blocks[static_cast<std::size_t>(node)].begin, blocks[last].end};
}

}  // namespace

// Stage k of the climb (or descent) handles segment r - k in round r.
Plan Tree::pipeline(const Group& group, int root, std::size_t count, Direction direction) const {
  const int stages = levels(group), distance = group.wrap(group.position - root);
  const int segments = static_cast<int>(
      std::max<std::size_t>(1, (count + segment_elements_ - 1) / segment_elements_));
  const bool up = direction == Direction::up;
  Plan plan;
  for (int r = 0; r < stages + segments - 1; ++r) {
    Round& round = plan.rounds.emplace_back();
    round.on_arrival = up ? OnArrival::combine : OnArrival::copy;
    for (int stage = 0; stage < stages; ++stage) {
      const int segment = r - stage;
      if (segment < 0 || segment >= segments) continue;
      const Range range = part(count, segment, segments);
      const Edges at = edges(distance, 1 << (up ? stage : stages - 1 - stage), group.size());
      if (at.parent) {
        const int parent = group.rank_at(root + *at.parent);
        up ? round.send(parent, range) : round.receive(parent, range);
      }
      if (at.child) {
        const int child = group.rank_at(root + *at.child);
        up ? round.receive(child, range) : round.send(child, range);
      }
    }
  }
  return plan;
}

Plan Tree::plan_all_reduce(const Group& group, std::size_t count) const {
  Plan plan = pipeline(group, 0, count, Direction::up);
  plan.append(pipeline(group, 0, count, Direction::down));
  return plan;
}

Plan Tree::plan_broadcast(const Group& group, int root, std::size_t count) const {
  return pipeline(group, root, count, Direction::down);
}

Plan Tree::plan_reduce_scatter(const Group& group, std::size_t count) const {
  Plan plan = pipeline(group, 0, count, Direction::up);
  const std::vector<Range> blocks = parts_of(count, group.size());
  for (int level = levels(group) - 1; level >= 0; --level) {
    const int stride = 1 << level;
    Round& round = plan.rounds.emplace_back();
    const Edges at = edges(group.position, stride, group.size());
    if (at.parent)
      round.receive(group.rank_at(*at.parent), subtree(blocks, group.position, stride));
    if (at.child) round.send(group.rank_at(*at.child), subtree(blocks, *at.child, stride));
  }
  return plan;
}

Plan Tree::plan_all_gather(const Group& group, const std::vector<Range>& blocks) const {
  Plan plan;
  for (int stride = 1; stride < group.size(); stride *= 2) {
    Round& round = plan.rounds.emplace_back();
    const Edges at = edges(group.position, stride, group.size());
    if (at.parent) round.send(group.rank_at(*at.parent), subtree(blocks, group.position, stride));
    if (at.child) round.receive(group.rank_at(*at.child), subtree(blocks, *at.child, stride));
  }
  for (int level = levels(group) - 1; level >= 0; --level) {
    // Down goes what the child lacks: everything before and after its own subtree.
    const int stride = 1 << level;
    Round& round = plan.rounds.emplace_back();
    const Edges at = edges(group.position, stride, group.size());
    if (at.parent) {
      const Range own = subtree(blocks, group.position, stride);
      round.receive(group.rank_at(*at.parent), {0, own.begin});
      round.receive(group.rank_at(*at.parent), {own.end, blocks.back().end});
    }
    if (at.child) {
      const Range theirs = subtree(blocks, *at.child, stride);
      round.send(group.rank_at(*at.child), {0, theirs.begin});
      round.send(group.rank_at(*at.child), {theirs.end, blocks.back().end});
    }
  }
  return plan;
}

}  // namespace skep
