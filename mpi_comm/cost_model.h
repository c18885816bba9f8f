#pragma once
// What a plan costs in time, read off its rounds: alpha for a round (its latency), beta for each
// byte through a rank's port, gamma for each byte that is combined. Ports work in both directions
// at once. A round lasts as long as its slowest rank, and the next begins when it is over.
// No formula of a topology stands here: a new one is priced by the plans it makes.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mpi_comm/plan.h"

namespace skep {

struct LinkCosts {
  double alpha_seconds = 0;           ///< a message of no bytes
  double beta_seconds_per_byte = 0;   ///< moving, in both directions at once
  double gamma_seconds_per_byte = 0;  ///< combining
};

/// e.g. "alpha 1.20 us, beta 0.140 ns/byte (7.1 GB/s), gamma 0.050 ns/byte".
std::string to_string(const LinkCosts& costs);

/// Seconds of each round. `plans` are those of all ranks, or of one whose rounds stand for all.
std::vector<double> price_rounds(std::span<const Plan> plans, std::size_t element_bytes,
                                 const LinkCosts& costs);
/// Seconds of the whole.
double price(std::span<const Plan> plans, std::size_t element_bytes, const LinkCosts& costs);

/// A measurement to fit to: what a plan did, and how long it took.
struct CostSample {
  double rounds = 0, moved_bytes = 0, combined_bytes = 0;
  double seconds = 0;
};

/// The costs whose predictions have the least squares of relative errors. Never negative. Needs
/// samples of different sizes, with combining ones among them for gamma.
LinkCosts fit_costs(std::span<const CostSample> samples);

}  // namespace skep
