#include "train/sync/gradient_sync.h"

namespace skep {

TravellingTotals to_numbers(const StepTotals& t) {
  return {t.loss_sum, t.tokens, t.stop_requests, t.saves_written, t.task_sums[0], t.task_sums[1]};
}

StepTotals from_numbers(std::span<const double, 6> n) {
  return {n[0], n[1], n[2], n[3], {n[4], n[5]}};
}

StepTotals sum_over_all(const StepTotals& own, Communicator& comm) {
  TravellingTotals numbers = to_numbers(own);
  comm.all_reduce(numbers, Combine::sum);
  return from_numbers(numbers);
}

}  // namespace skep
