#include "train/sync/gradient_sync.h"

#include <array>

namespace skep {

StepTotals sum_over_all(const StepTotals& own, Communicator& comm) {
  std::array<double, 4> numbers{own.loss_sum, own.tokens, own.stop_requests, own.saves_written};
  comm.all_reduce(numbers, Combine::sum);
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

}  // namespace skep
