#include "tools/bench/comm_measurement.h"

#include <algorithm>

#include "tools/bench/training_step.h"

namespace skep {
namespace {

float value(std::size_t rank, std::size_t i) { return static_cast<float>((rank * 7 + i * 3) % 11); }

void run(Communicator& comm, Collective collective, const Topology& topology,
         std::vector<float>& data) {
  switch (collective) {
    case Collective::all_reduce:
      return comm.all_reduce(data, Combine::sum, topology);
    case Collective::reduce_scatter:
      return comm.reduce_scatter(data, Combine::sum, topology);
    case Collective::all_gather: {
      std::vector<std::size_t> counts;
      for (const Range& range : parts_of(data.size(), comm.size())) counts.push_back(range.size());
      const Range own = part(data.size(), comm.rank(), comm.size());
      return comm.all_gatherv(std::span(data).subspan(own.begin, own.size()), counts, data,
                              topology);
    }
    case Collective::broadcast:
      return comm.broadcast(data, 0, topology);
  }
}

}  // namespace

double CommMeasurement::bus_bandwidth() const {
  const double n = ranks;
  double factor = (n - 1) / n;
  if (collective == Collective::all_reduce) factor *= 2;
  if (collective == Collective::broadcast) factor = 1;
  return factor * algorithm_bandwidth();
}

std::vector<float> comm_input(Collective collective, int rank, int ranks, std::size_t count) {
  std::vector<float> data(count);
  const bool gathers = collective == Collective::all_gather;
  const Range own = gathers ? part(count, rank, ranks) : Range{0, count};
  for (std::size_t i = own.begin; i < own.end; ++i)
    data[i] = value(static_cast<std::size_t>(rank), i);
  return data;
}

std::int64_t count_wrong(Collective collective, int rank, int ranks, std::span<const float> data) {
  const bool scattered = collective == Collective::reduce_scatter;
  const Range own = scattered ? part(data.size(), rank, ranks) : Range{0, data.size()};
  const std::vector<Range> parts = parts_of(data.size(), ranks);
  std::int64_t wrong = 0;
  for (std::size_t i = own.begin, owner = 0; i < own.end; ++i) {
    while (i >= parts[owner].end) ++owner;
    float exact = 0;
    if (collective == Collective::all_gather) exact = value(owner, i);
    if (collective == Collective::broadcast) exact = value(0, i);
    if (collective == Collective::all_reduce || scattered)
      for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) exact += value(r, i);
    if (data[i] != exact) ++wrong;
  }
  return wrong;
}

std::vector<CommMeasurement> measure_size(Communicator& comm, Collective collective,
                                          const std::vector<Contender>& contenders,
                                          const Calibration& calibration, std::int64_t bytes,
                                          std::int64_t repetitions) {
  const std::size_t count = static_cast<std::size_t>(bytes) / sizeof(float);
  std::vector<CommMeasurement> results;
  std::vector<std::vector<double>> seconds(contenders.size());
  std::vector<float> data;
  for (const Contender& contender : contenders) {
    data = comm_input(collective, comm.rank(), comm.size(), count);
    comm.set_carrier(contender.carrier, calibration);
    run(comm, collective, *contender.topology, data);
    const std::int64_t wrong = count_wrong(collective, comm.rank(), comm.size(), data);
    results.push_back(
        {contender.name, collective, comm.size(), bytes, 0, comm.all_reduce(wrong, Combine::sum)});
  }
  std::fill(data.begin(), data.end(), 0.0f);  // sums of sums must not run away
  // Short calls are timed by the dozen: the clock has a price too.
  const int calls = bytes <= (1 << 16) ? 20 : 1;
  for (std::int64_t i = 0; i < repetitions; ++i)
    for (std::size_t c = 0; c < contenders.size(); ++c) {
      comm.set_carrier(contenders[c].carrier, calibration);
      comm.barrier();
      const double start = seconds_now();
      for (int call = 0; call < calls; ++call) run(comm, collective, *contenders[c].topology, data);
      const double mine = (seconds_now() - start) / calls;
      seconds[c].push_back(comm.all_reduce(mine, Combine::max));
    }
  comm.set_carrier(Carrier::plans);
  for (std::size_t c = 0; c < contenders.size(); ++c) results[c].seconds = median(seconds[c]);
  return results;
}

}  // namespace skep
