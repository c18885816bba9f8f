#pragma once
// Binomial tree: sums climb to position 0 in log2 N levels, the result descends the same edges.
// all_reduce: 2 log2 N rounds, m bytes sent up by everyone and up to m log2 N down at the root: the
// least latency for small messages, the most bytes. Large buffers climb in segments, so that a
// level works on one segment while the next follows, and what is added still sits in cache.
#include "mpi_comm/topology.h"

namespace skep {

class Tree : public Topology {
 public:
  /// The default segment is 1 MiB of fp32.
  explicit Tree(std::size_t segment_elements = std::size_t{1} << 18)
      : segment_elements_(segment_elements) {}
  std::string_view name() const override { return "tree"; }

 protected:
  Plan plan_all_reduce(const Group& group, std::size_t count) const override;
  Plan plan_reduce_scatter(const Group& group, std::size_t count) const override;
  Plan plan_all_gather(const Group& group, const std::vector<Range>& blocks) const override;
  Plan plan_broadcast(const Group& group, int root, std::size_t count) const override;

 private:
  enum class Direction { up, down };
  Plan pipeline(const Group& group, int root, std::size_t count, Direction direction) const;

  std::size_t segment_elements_;
};

}  // namespace skep
