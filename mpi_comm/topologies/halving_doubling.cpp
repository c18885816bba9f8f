#include "mpi_comm/topologies/halving_doubling.h"

#include <bit>

namespace skep {
namespace {

const TopologyEntry entry{"halving_doubling", without_settings<HalvingDoubling>};

enum class Pass { to_first, to_second };

// Writes one rank's plan. Halving and doubling is done by the core, a power of two of members. With
// `pairs_` ranks too many, the first so many pairs of neighbours are one member each, played by the
// first of the two. `parts` are what each member is in charge of, side by side.
class Writer {
 public:
  explicit Writer(const Group& group)
      : group_(group),
        members_(static_cast<int>(std::bit_floor(static_cast<unsigned>(group.size())))),
        pairs_(group.size() - members_),
        in_pair_(group.position < 2 * pairs_),
        plays_(!in_pair_ || group.position % 2 == 0),
        own_(in_pair_ ? group.position / 2 : group.position - pairs_) {}

  int members() const { return members_; }

  /// The parts, when every position is in charge of its block.
  std::vector<Range> join(const std::vector<Range>& blocks) const {
    std::vector<Range> parts;
    for (int member = 0; member < members_; ++member)
      parts.push_back({blocks[static_cast<std::size_t>(position(member))].begin,
                       blocks[static_cast<std::size_t>(position(member + 1) - 1)].end});
    return parts;
  }
  /// The block of the second of this rank's pair; empty without a pair.
  Range second(const std::vector<Range>& blocks) const {
    return in_pair_ ? blocks[static_cast<std::size_t>(group_.position | 1)] : Range{};
  }

  /// A round within the pairs, if there are any.
  void pass(Pass direction, OnArrival action, const std::vector<Range>& ranges) {
    if (pairs_ == 0) return;
    Round& round = next_round(action);
    const int peer = group_.rank_at(group_.position ^ 1);
    for (const Range range : ranges)
      if (in_pair_)
        plays_ == (direction == Pass::to_first) ? round.receive(peer, range)
                                                : round.send(peer, range);
  }

  /// Swaps and adds halves of what is left; in the end each member holds the sum of its part.
  void halve(const std::vector<Range>& parts) {
    for (int distance = members_ / 2; distance > 0; distance /= 2) {
      Round& round = next_round(OnArrival::combine);
      if (!plays_) continue;
      const int partner = own_ ^ distance;
      round.send(rank_of(partner), run(parts, partner, distance));
      round.receive(rank_of(partner), run(parts, own_, distance));
    }
  }

  /// Swaps all that partners hold, the closest first; in the end every member holds every part.
  void redouble(const std::vector<Range>& parts) {
    redouble(parts, [](int, int) { return true; });
  }

  /// Deals the parts down from member 0, then gathers them.
  void deal_and_redouble(const std::vector<Range>& parts) {
    for (int distance = members_ / 2; distance > 0; distance /= 2) {
      Round& round = next_round(OnArrival::copy);
      const int partner = own_ ^ distance;
      if (!plays_ || own_ % distance != 0) continue;
      if (own_ < partner)
        round.send(rank_of(partner), run(parts, partner, distance));
      else
        round.receive(rank_of(partner), run(parts, own_, distance));
    }
    // Who has dealt out the partner's parts holds them still.
    redouble(parts, [](int member, int distance) { return member % (2 * distance) != 0; });
  }

  Plan take() { return std::move(plan_); }

 private:
  Round& next_round(OnArrival action) {
    Round& round = plan_.rounds.emplace_back();
    round.on_arrival = action;
    return round;
  }

  template <class Lacks>  // lacks(member, distance): whether it needs its partner's parts
  void redouble(const std::vector<Range>& parts, Lacks lacks) {
    for (int distance = 1; distance < members_; distance *= 2) {
      Round& round = next_round(OnArrival::copy);
      if (!plays_) continue;
      const int partner = own_ ^ distance;
      if (lacks(partner, distance)) round.send(rank_of(partner), run(parts, own_, distance));
      if (lacks(own_, distance)) round.receive(rank_of(partner), run(parts, partner, distance));
    }
  }

  int position(int member) const { return member < pairs_ ? 2 * member : member + pairs_; }
  int rank_of(int member) const { return group_.rank_at(position(member)); }

  // The parts of the `length` members among which `member` is, counted in such runs from 0.
  static Range run(const std::vector<Range>& parts, int member, int length) {
    const int first = member / length * length;
    return {parts[static_cast<std::size_t>(first)].begin,
            parts[static_cast<std::size_t>(first + length - 1)].end};
  }

  const Group& group_;
  int members_, pairs_;
  bool in_pair_, plays_;  // plays_: this rank is a member of the core
  int own_;               // the member it is, or that speaks for it
  Plan plan_;
};

}  // namespace

Plan HalvingDoubling::plan_all_reduce(const Group& group, std::size_t count) const {
  Writer writer(group);
  const std::vector<Range> parts = parts_of(count, writer.members());
  writer.pass(Pass::to_first, OnArrival::combine, {{0, count}});
  writer.halve(parts);
  writer.redouble(parts);
  writer.pass(Pass::to_second, OnArrival::copy, {{0, count}});
  return writer.take();
}

Plan HalvingDoubling::plan_reduce_scatter(const Group& group, std::size_t count) const {
  Writer writer(group);
  const std::vector<Range> blocks = parts_of(count, group.size());
  writer.pass(Pass::to_first, OnArrival::combine, {{0, count}});
  writer.halve(writer.join(blocks));
  writer.pass(Pass::to_second, OnArrival::copy, {writer.second(blocks)});
  return writer.take();
}

Plan HalvingDoubling::plan_all_gather(const Group& group, const std::vector<Range>& blocks) const {
  Writer writer(group);
  const Range second = writer.second(blocks);
  writer.pass(Pass::to_first, OnArrival::copy, {second});
  writer.redouble(writer.join(blocks));
  writer.pass(Pass::to_second, OnArrival::copy,
              {{0, second.begin}, {second.end, blocks.back().end}});
  return writer.take();
}

Plan HalvingDoubling::plan_broadcast(const Group& group, int root, std::size_t count) const {
  // Counted from the root: it is member 0 of the core.
  Group from_root{{}, group.wrap(group.position - root)};
  for (int i = 0; i < group.size(); ++i) from_root.ranks.push_back(group.rank_at(root + i));
  Writer writer(from_root);
  writer.deal_and_redouble(parts_of(count, writer.members()));
  writer.pass(Pass::to_second, OnArrival::copy, {{0, count}});
  return writer.take();
}

}  // namespace skep
