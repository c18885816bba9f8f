#include "mpi_comm/topologies/hierarchical.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "mpi_comm/comm_error.h"
#include "mpi_comm/shifts.h"

namespace skep {
namespace {

const TopologyEntry entry{"hierarchical",
                          [](const TopologySettings& settings) -> std::unique_ptr<Topology> {
                            return std::make_unique<Hierarchical>(settings.hosts);
                          }};

constexpr int window = 16;  // peers in one round

// Who is where in a group, in positions. Every position owns a block, whose sum is completed there.
// On each host one position carries the block: the one in the owner's place, counted around where a
// host has fewer ranks. On the owner's host that is the owner itself.
class Layout {
 public:
  template <class HostOf>
  Layout(const Group& group, HostOf host_of) : places_(group.ranks.size()) {
    std::map<int, std::vector<int>> by_host;
    for (int position = 0; position < group.size(); ++position)
      by_host[host_of(group.rank_at(position))].push_back(position);
    for (auto& [name, positions] : by_host) {
      for (std::size_t i = 0; i < positions.size(); ++i)
        places_[static_cast<std::size_t>(positions[i])] = {static_cast<int>(hosts_.size()), i};
      hosts_.push_back(std::move(positions));
    }
  }

  int hosts() const { return static_cast<int>(hosts_.size()); }
  int host_of(int position) const { return place(position).host; }
  /// Its positions.
  const std::vector<int>& on_host(int host) const { return hosts_[static_cast<std::size_t>(host)]; }

  int carrier(int host, int owner) const {
    return on_host(host)[place(owner).index % on_host(host).size()];
  }

  /// What a position carries; blocks that touch are one range.
  std::vector<Range> carried_by(int position, const std::vector<Range>& blocks) const {
    std::vector<Range> ranges;
    for (int owner = 0; owner < static_cast<int>(blocks.size()); ++owner) {
      if (carrier(host_of(position), owner) != position) continue;
      const Range block = blocks[static_cast<std::size_t>(owner)];
      if (!ranges.empty() && ranges.back().end == block.begin)
        ranges.back().end = block.end;
      else
        ranges.push_back(block);
    }
    return ranges;
  }

  /// Parts of [0, count) as blocks, such that what one position carries lies side by side.
  std::vector<Range> blocks_of(std::size_t count) const {
    const int size = static_cast<int>(places_.size());
    std::vector<Range> blocks(places_.size());
    int next = 0;
    for (std::size_t index = 0; next < size; ++index)
      for (const std::vector<int>& positions : hosts_)
        if (index < positions.size())
          blocks[static_cast<std::size_t>(positions[index])] = part(count, next++, size);
    return blocks;
  }

 private:
  struct Place {
    int host = 0;
    std::size_t index = 0;  // which of the host's positions
  };
  const Place& place(int position) const { return places_[static_cast<std::size_t>(position)]; }

  std::vector<std::vector<int>> hosts_;  // the positions on each
  std::vector<Place> places_;            // of each position
};

// Writes the plan of one position.
class Writer {
 public:
  Writer(const Group& group, const Layout& layout, const std::vector<Range>& blocks)
      : group_(group), layout_(layout), blocks_(blocks), host_(layout.host_of(group.position)) {}

  /// Adds up within the host where a block is carried, then between hosts where it is owned.
  Plan reduce_scatter() const {
    Plan plan = within_host(OnArrival::combine, [this](Round& round, int to, int from) {
      for (const Range range : layout_.carried_by(to, blocks_)) send(round, to, range);
      for (const Range range : layout_.carried_by(own(), blocks_)) receive(round, from, range);
    });
    plan.append(between_hosts(OnArrival::combine, [this](Round& round, int to, int from) {
      for (const int owner : layout_.on_host(to))
        if (layout_.carrier(host_, owner) == own()) send(round, owner, block(owner));
      receive(round, layout_.carrier(from, own()), block(own()));
    }));
    return plan;
  }

  /// The way back. A position that is informed has everything already: it only sends.
  Plan all_gather(std::optional<int> informed = {}) const {
    Plan plan = between_hosts(OnArrival::copy, [&](Round& round, int to, int from) {
      const int carrier = layout_.carrier(to, own());
      if (carrier != informed) send(round, carrier, block(own()));
      for (const int owner : layout_.on_host(from))
        if (layout_.carrier(host_, owner) == own() && own() != informed)
          receive(round, owner, block(owner));
    });
    plan.append(within_host(OnArrival::copy, [&](Round& round, int to, int from) {
      for (const Range range : layout_.carried_by(own(), blocks_))
        if (to != informed) send(round, to, range);
      for (const Range range : layout_.carried_by(from, blocks_))
        if (own() != informed) receive(round, from, range);
    }));
    return plan;
  }

  /// The root gives everybody its block.
  Plan deal(int root) const {
    return shifts(group_.size(), window, OnArrival::copy, [&](Round& round, int distance) {
      const int to = group_.wrap(own() + distance);
      if (own() == root) send(round, to, block(to));
      if (group_.wrap(own() - distance) == root) receive(round, root, block(own()));
    });
  }

 private:
  template <class Visit>  // visit(round, to, from): positions on this host
  Plan within_host(OnArrival action, Visit visit) const {
    const std::vector<int>& ranks = layout_.on_host(host_);
    const auto found = std::find(ranks.begin(), ranks.end(), own());
    const Group local{ranks, static_cast<int>(found - ranks.begin())};
    return shifts(local.size(), window, action, [&](Round& round, int distance) {
      visit(round, local.rank_at(local.position + distance),
            local.rank_at(local.position - distance));
    });
  }

  template <class Visit>  // visit(round, to, from): hosts
  Plan between_hosts(OnArrival action, Visit visit) const {
    const int hosts = layout_.hosts();
    return shifts(hosts, window, action, [&](Round& round, int distance) {
      visit(round, (host_ + distance) % hosts, (host_ - distance + hosts) % hosts);
    });
  }

  int own() const { return group_.position; }
  Range block(int position) const { return blocks_[static_cast<std::size_t>(position)]; }
  void send(Round& round, int to, Range range) const { round.send(group_.rank_at(to), range); }
  void receive(Round& round, int from, Range range) const {
    round.receive(group_.rank_at(from), range);
  }

  const Group& group_;
  const Layout& layout_;
  const std::vector<Range>& blocks_;
  int host_;
};

}  // namespace

int Hierarchical::host_of(int rank) const {
  if (hosts_.empty()) return 0;
  comm_check(static_cast<std::size_t>(rank) < hosts_.size(),
             "topology hierarchical: knows the hosts of {} ranks, not of rank {}", hosts_.size(),
             rank);
  return hosts_[static_cast<std::size_t>(rank)];
}

std::string Hierarchical::note(int size) const {
  std::set<int> hosts;
  for (int rank = 0; rank < size; ++rank) hosts.insert(host_of(rank));
  if (hosts.size() == 1) return "all ranks are on one host: works as full_mesh";
  return fmt::format("{} hosts", hosts.size());
}

Plan Hierarchical::plan_all_reduce(const Group& group, std::size_t count) const {
  const Layout layout(group, [this](int rank) { return host_of(rank); });
  const std::vector<Range> blocks = layout.blocks_of(count);
  const Writer writer(group, layout, blocks);
  Plan plan = writer.reduce_scatter();
  plan.append(writer.all_gather());
  return plan;
}

Plan Hierarchical::plan_reduce_scatter(const Group& group, std::size_t count) const {
  const Layout layout(group, [this](int rank) { return host_of(rank); });
  const std::vector<Range> blocks = parts_of(count, group.size());
  return Writer(group, layout, blocks).reduce_scatter();
}

Plan Hierarchical::plan_all_gather(const Group& group, const std::vector<Range>& blocks) const {
  const Layout layout(group, [this](int rank) { return host_of(rank); });
  return Writer(group, layout, blocks).all_gather();
}

Plan Hierarchical::plan_broadcast(const Group& group, int root, std::size_t count) const {
  const Layout layout(group, [this](int rank) { return host_of(rank); });
  const std::vector<Range> blocks = layout.blocks_of(count);
  const Writer writer(group, layout, blocks);
  Plan plan = writer.deal(root);
  plan.append(writer.all_gather(root));
  return plan;
}

}  // namespace skep
