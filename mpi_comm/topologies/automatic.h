#pragma once
// Automatic: for each collective and size, the topology with the least price by measured costs,
// among those that bring everybody together. Its plans bear the name of the topology chosen.
// Not in the list of names: it is made from a calibration (calibration.h), the same on all ranks.
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "mpi_comm/collective.h"
#include "mpi_comm/cost_model.h"
#include "mpi_comm/topology.h"

namespace skep {

class Automatic : public Topology {
 public:
  explicit Automatic(const LinkCosts& costs, const TopologySettings& settings = {});
  std::string_view name() const override { return "auto"; }
  /// The measured costs, and what they choose for an all_reduce of which size.
  std::string note(int size) const override;
  Reach reach(int) const override { return Reach::global; }

  /// The cheapest for `count` elements of fp32 on `size` ranks; the first name wins ties.
  const Topology& choose(Collective collective, int size, std::size_t count) const;

 protected:
  Plan plan_all_reduce(const Group& group, std::size_t count) const override;
  Plan plan_reduce_scatter(const Group& group, std::size_t count) const override;
  Plan plan_all_gather(const Group& group, const std::vector<Range>& blocks) const override;
  Plan plan_broadcast(const Group& group, int root, std::size_t count) const override;

 private:
  const Topology& cheapest(Collective collective, int size, std::size_t count) const;

  LinkCosts costs_;
  std::vector<std::unique_ptr<Topology>> candidates_;
  // Remembered: pricing takes longer than a small collective. Each rank has an object of its own.
  mutable std::map<std::tuple<Collective, int, std::size_t>, const Topology*> chosen_;
};

}  // namespace skep
