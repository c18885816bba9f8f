#include "mpi_comm/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace skep {
namespace {

std::size_t elements(const std::vector<Transfer>& transfers) {
  std::size_t sum = 0;
  for (const Transfer& transfer : transfers) sum += transfer.range.size();
  return sum;
}

double price_round(const Round& round, double element_bytes, const LinkCosts& costs) {
  if (round.sends.empty() && round.receives.empty()) return 0;
  const double sent = static_cast<double>(elements(round.sends)) * element_bytes;
  const double received = static_cast<double>(elements(round.receives)) * element_bytes;
  const double combined = round.on_arrival == OnArrival::combine ? received : 0;
  return costs.alpha_seconds + costs.beta_seconds_per_byte * std::max(sent, received) +
         costs.gamma_seconds_per_byte * combined;
}

using Vector = std::array<double, 3>;

// Each sample divided by its time: a relative error counts the same at 8 bytes and at 64 MB.
Vector relative(const CostSample& sample) {
  return {sample.rounds / sample.seconds, sample.moved_bytes / sample.seconds,
          sample.combined_bytes / sample.seconds};
}

}  // namespace

std::string to_string(const LinkCosts& costs) {
  return fmt::format("alpha {:.2f} us, beta {:.3f} ns/byte ({:.1f} GB/s), gamma {:.3f} ns/byte",
                     costs.alpha_seconds * 1e6, costs.beta_seconds_per_byte * 1e9,
                     1e-9 / costs.beta_seconds_per_byte, costs.gamma_seconds_per_byte * 1e9);
}

std::vector<double> price_rounds(std::span<const Plan> plans, std::size_t element_bytes,
                                 const LinkCosts& costs) {
  std::vector<double> seconds;
  for (const Plan& plan : plans) {
    seconds.resize(std::max(seconds.size(), plan.rounds.size()));
    for (std::size_t i = 0; i < plan.rounds.size(); ++i)
      seconds[i] = std::max(seconds[i],
                            price_round(plan.rounds[i], static_cast<double>(element_bytes), costs));
  }
  return seconds;
}

double price(std::span<const Plan> plans, std::size_t element_bytes, const LinkCosts& costs) {
  const std::vector<double> rounds = price_rounds(plans, element_bytes, costs);
  return std::accumulate(rounds.begin(), rounds.end(), 0.0);
}

// Coordinate descent on |A x - 1|^2 with x >= 0: each sweep solves for one cost after the other
// while the rest stays. Its steps do not depend on the units of the columns.
LinkCosts fit_costs(std::span<const CostSample> samples) {
  std::vector<Vector> rows;
  for (const CostSample& sample : samples) rows.push_back(relative(sample));
  Vector length{}, x{};
  for (const Vector& row : rows)
    for (std::size_t k = 0; k < 3; ++k) length[k] += row[k] * row[k];
  for (int sweep = 0; sweep < 10000; ++sweep)
    for (std::size_t k = 0; k < 3; ++k) {
      if (length[k] == 0) continue;
      double along = 0;  // what is missing, projected on column k
      for (const Vector& row : rows)
        along += row[k] * (1 - std::inner_product(row.begin(), row.end(), x.begin(), 0.0));
      x[k] = std::max(0.0, x[k] + along / length[k]);
    }
  return {x[0], x[1], x[2]};
}

}  // namespace skep
