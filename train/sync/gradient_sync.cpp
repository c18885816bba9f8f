#include "train/sync/gradient_sync.h"

#include <array>

namespace skep {

StepTotals sum_over_all(const StepTotals& own, Communicator& comm) {
  std::array<double, 2> numbers{own.loss_sum, own.tokens};
  comm.all_reduce(numbers, Combine::sum);
  return {numbers[0], numbers[1]};
}

}  // namespace skep
