#pragma once
// Parameters that a step did not use. On some ranks only, they are a fault of data parallelism that
// is easily missed: the sum is right (an unused gradient is zero), but the mean is over ranks that
// never looked. By default an unused parameter ends the run; watching for them tells who did not
// use which.
#include <string>
#include <vector>

#include "model/parameter_store.h"
#include "mpi_comm/communicator.h"

namespace skep {

class UnusedParameters {
 public:
  enum class When { refuse, watch };
  explicit UnusedParameters(When when) : when_(when) {}

  /// Notes the paths that got no gradient on this rank. Refusing: Error(usage) names the first.
  void found(std::vector<std::string> unused, std::int64_t step, int rank);

  /// Watching: a report for people whenever something changed, else empty; the same text on every
  /// rank. Collective, so it comes after the step's gradients have met: ranks that miss some start
  /// them later.
  std::string compare(const ParameterStore& store, Communicator& comm);

 private:
  When when_;
  std::vector<std::string> unused_;
  std::vector<std::int64_t> last_;  // for each rank and parameter, 1 where unused
};

}  // namespace skep
