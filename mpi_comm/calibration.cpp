#include "mpi_comm/calibration.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "mpi_comm/communicator.h"
#include "mpi_comm/topologies/automatic.h"

namespace skep {
namespace {

using Clock = std::chrono::steady_clock;

// Plans are chosen when they take less than this part of the library's time: a clear difference.
constexpr double worthwhile = 0.95;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Seconds of one call on the slowest rank, the best of some batches: what disturbs only adds.
template <class Call>
double time_call(Communicator& comm, std::size_t bytes, Call call) {
  const bool small = bytes <= (1 << 14);
  const int batches = small ? 12 : bytes <= (1 << 18) ? 8 : 4, calls = small ? 20 : 1;
  double best = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < batches; ++batch) {
    comm.barrier();
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    const double seconds = comm.all_reduce(seconds_since(start) / calls, Combine::max);
    if (batch > 0) best = std::min(best, seconds);  // the first warms up
  }
  return best;
}

// Everybody sends to the right and receives from the left: one round, every port busy both ways.
Plan shift_plan(const Place& at, std::size_t count, OnArrival action) {
  const int n = at.size;
  Plan plan;
  plan.topology = "calibration";
  plan.operation = "exchange";
  plan.numbering = Numbering::own;
  Round& round = plan.rounds.emplace_back();
  round.on_arrival = action;
  round.send((at.rank + 1) % n, {0, count});
  round.receive((at.rank + n - 1) % n, {count, 2 * count});
  return plan;
}

bool time_is_up(Communicator& comm, Clock::time_point start, double limit_seconds) {
  return comm.all_reduce(seconds_since(start), Combine::max) > limit_seconds;
}

}  // namespace

bool Calibration::library_is_faster(std::size_t bytes) const {
  if (all_reduces.empty()) return false;
  const auto ratio = [](const Comparison& c) {
    return std::log(c.plans_seconds / (worthwhile * c.library_seconds));
  };
  const auto above = std::find_if(all_reduces.begin(), all_reduces.end(),
                                  [&](const Comparison& c) { return c.bytes >= bytes; });
  if (above == all_reduces.begin()) return ratio(*above) > 0;
  if (above == all_reduces.end()) return ratio(all_reduces.back()) > 0;
  const Comparison& below = *(above - 1);
  const double at = std::log(static_cast<double>(bytes) / static_cast<double>(below.bytes)) /
                    std::log(static_cast<double>(above->bytes) / static_cast<double>(below.bytes));
  return (1 - at) * ratio(below) + at * ratio(*above) > 0;
}

Calibration fit_wires(Communicator& comm, double limit_seconds) {
  Calibration found;
  found.costs = {1e-6, 1e-9, 0};
  if (comm.size() == 1) return found;
  const Clock::time_point start = Clock::now();
  // Far apart at first: where the time is used up early, the rest is left out.
  for (const std::size_t count : {2, 1 << 20, 1 << 10, 1 << 16, 1 << 13, 1 << 7}) {
    std::vector<float> from(count), into(count);
    for (const OnArrival action : {OnArrival::copy, OnArrival::combine}) {
      const Plan plan = shift_plan(comm.place(), count, action);
      const double bytes = 4.0 * static_cast<double>(count);
      const double seconds =
          time_call(comm, 4 * count, [&] { comm.start(plan, from, into).wait(); });
      found.samples.push_back({1, bytes, action == OnArrival::combine ? bytes : 0, seconds});
    }
    const bool two_sizes = found.samples.size() >= 4;  // the least that tells alpha from beta
    if (two_sizes && time_is_up(comm, start, limit_seconds)) break;
  }
  found.costs = fit_costs(found.samples);
  return found;
}

Calibration calibrate(Communicator& comm, const TopologySettings& settings, double limit_seconds) {
  const Clock::time_point start = Clock::now();
  Calibration found = fit_wires(comm, limit_seconds / 2);
  if (comm.size() == 1 || !comm.has_library()) return found;
  const Automatic best(found.costs, settings);
  for (std::size_t count = 1; count <= (1 << 22); count *= 4) {  // 4 bytes to 16 MiB of fp32
    std::vector<float> data(count);
    const auto time_carrier = [&](Carrier carrier) {
      return time_call(comm, 4 * count, [&] {
        comm.set_carrier(carrier);
        comm.all_reduce(data, Combine::sum, best);
        comm.set_carrier(Carrier::plans);
      });
    };
    const double plans = time_carrier(Carrier::plans), library = time_carrier(Carrier::mpi);
    found.all_reduces.push_back({4 * count, plans, library});
    if (time_is_up(comm, start, limit_seconds)) break;
  }
  return found;
}

}  // namespace skep
