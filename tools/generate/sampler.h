#pragma once
// From the logits of one position to the next token: temperature, then the k likeliest (Fan et al.
// 2018), then the nucleus (Holtzman et al. 2020): the fewest tokens whose probability reaches p.
// All in double; of equal logits the lower id goes first.
#include <cstdint>
#include <span>
#include <vector>

namespace skep {

struct Sampling {
  double temperature = 1;  ///< 0: always the likeliest
  std::int64_t top_k = 0;  ///< 0: all
  double top_p = 1;
  std::int64_t seed = 1337;
};

/// Error(usage) naming the flag whose value makes no sense.
void check_sampling(const Sampling& sampling);

struct Candidate {
  std::int32_t id;
  double probability;  ///< among the candidates: they add up to 1
};

/// Who may come next, likeliest first; never empty. Error(non_finite) when a logit is NaN or
/// infinite.
std::vector<Candidate> candidates(std::span<const float> logits, const Sampling& sampling);

/// The candidate at `uniform`, from [0, 1), of the cumulative distribution.
std::int32_t pick(std::span<const Candidate> candidates, double uniform);

/// The id of new token `index` (0, 1, …): a function of the logits, the seed and the index.
std::int32_t sample(std::span<const float> logits, const Sampling& sampling, std::int64_t index);

}  // namespace skep
