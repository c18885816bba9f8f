#pragma once
// A topology answers two questions for every step: who works with whom (groups), and which
// transfers carry out a collective inside a group (plans). Both are pure functions of the place,
// so every rank computes the same answer without talking, and all plans can be simulated.
// Each sum is completed at one rank and then copied: the replicas are bit-identical.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mpi_comm/plan.h"

namespace skep {

/// Where and when a rank stands. Topologies whose groups never change ignore seed and step.
struct Place {
  int rank = 0, size = 1;
  std::uint64_t seed = 0;
  long step = 0;
};

/// One group seen from one of its members. Algorithms count positions in the group, plans name
/// ranks.
struct Group {
  std::vector<int> ranks;
  int position = 0;
  long step = 0;

  int size() const { return static_cast<int>(ranks.size()); }
  /// Any integer: positions wrap around.
  int wrap(int index) const { return ((index % size()) + size()) % size(); }
  int rank_at(int index) const { return ranks[static_cast<std::size_t>(wrap(index))]; }
};

/// Part `index` of `parts` near-equal parts of [0, count): sizes differ by at most one.
Range part(std::size_t count, int index, int parts);

/// Whether the groups of a step are everybody (global), or the ranks meet in part only.
enum class Reach { global, partial };

class Topology {
 public:
  virtual ~Topology() = default;
  virtual std::string_view name() const = 0;
  /// What a user should know about it at this size, e.g. that it works as another one; mostly
  /// nothing.
  virtual std::string note(int /*size*/) const { return {}; }

  /// All groups of this step, a partition of the ranks. Everybody in one, unless overridden.
  virtual std::vector<std::vector<int>> groups(const Place& at) const;
  /// Whether every step brings everybody together: read off the groups of the first step, unless
  /// overridden.
  virtual Reach reach(int size) const;
  /// The group this rank is in.
  Group group(const Place& at) const;

  /// Afterwards every rank of the group holds the combination of all, bit for bit.
  Plan all_reduce(const Place& at, std::size_t count) const;
  /// Afterwards position i of the group holds part(count, i, group size); the rest is undefined.
  Plan reduce_scatter(const Place& at, std::size_t count) const;
  /// Position i contributes counts[i] elements, stored in this order in one buffer.
  Plan all_gather(const Place& at, std::span<const std::size_t> counts) const;
  /// `root` is a rank of the group.
  Plan broadcast(const Place& at, int root, std::size_t count) const;
  /// Sends send_counts[i] elements to position i and receives receive_counts[i] from it. The plan's
  /// buffer: the blocks to send in position order, then the blocks to receive in position order.
  /// The rank's own block is left where it is: copying it is up to the caller.
  Plan all_to_all(const Place& at, std::span<const std::size_t> send_counts,
                  std::span<const std::size_t> receive_counts) const;

 protected:
  // The algorithm inside a group of two or more. Ranges are in position order.
  virtual Plan plan_all_reduce(const Group& group, std::size_t count) const = 0;
  virtual Plan plan_reduce_scatter(const Group& group, std::size_t count) const = 0;
  virtual Plan plan_all_gather(const Group& group, const std::vector<Range>& blocks) const = 0;
  virtual Plan plan_broadcast(const Group& group, int root_position, std::size_t count) const = 0;
  // Every block goes straight to its receiver, one peer a round, unless overridden.
  virtual Plan plan_all_to_all(const Group& group, const std::vector<Range>& sends,
                               const std::vector<Range>& receives) const;

 private:
  Plan labelled(Plan plan, const Group& group, std::string_view operation) const;
};

/// The parts of [0, count) owned by each position.
std::vector<Range> parts_of(std::size_t count, int parts);

/// What a topology may need to know besides its name; each reads what concerns it.
struct TopologySettings {
  int cluster_size = 4;         ///< ranks in one cluster, at most
  std::vector<int> hosts = {};  ///< host of each rank, counted from 0; empty: all on one
};

/// The topology of that name; CommError(usage) listing the valid names otherwise.
std::unique_ptr<Topology> make_topology(std::string_view name,
                                        const TopologySettings& settings = {});
/// Valid names, sorted.
std::vector<std::string> topology_names();

/// A topology's own file names it once: `const TopologyEntry entry{"ring", …}`, with a
/// function that makes it.
struct TopologyEntry {
  using Make = std::unique_ptr<Topology> (*)(const TopologySettings&);
  TopologyEntry(std::string name, Make make);
};

/// The `make` of topologies that no setting concerns.
template <class T>
std::unique_ptr<Topology> without_settings(const TopologySettings&) {
  return std::make_unique<T>();
}

}  // namespace skep
