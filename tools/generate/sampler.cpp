#include "tools/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/error.h"
#include "engine/core/random.h"

namespace skep {
namespace {

void require_finite(std::span<const float> logits) {
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!std::isfinite(logits[i]))
      fail(ErrorKind::non_finite,
           "the logit of token {} is {}: the weights are damaged, or training diverged", i,
           logits[i]);
}

// The ids of the `count` largest logits, in order.
std::vector<std::int32_t> largest(std::span<const float> logits, std::int64_t count) {
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
                    });
  ids.resize(count);
  return ids;
}

double total(std::span<const Candidate> list) {
  return std::accumulate(list.begin(), list.end(), 0.0,
                         [](double sum, const Candidate& c) { return sum + c.probability; });
}

// The shortest beginning that holds `top_p` of the whole.
void cut_to_nucleus(std::vector<Candidate>& list, double top_p) {
  const double wanted = top_p * total(list);
  double reached = 0;
  std::size_t kept = 0;
  while (kept < list.size() && reached < wanted) reached += list[kept++].probability;
  list.resize(std::max<std::size_t>(kept, 1));
}

}  // namespace

void check_sampling(const Sampling& s) {
  if (!(s.temperature >= 0) || !std::isfinite(s.temperature))
    fail(ErrorKind::usage, "--temperature must be 0 (greedy) or more, not {}", s.temperature);
  if (s.top_k < 0) fail(ErrorKind::usage, "--top-k must be 0 (all) or more, not {}", s.top_k);
  if (!(s.top_p > 0 && s.top_p <= 1))
    fail(ErrorKind::usage, "--top-p must be above 0 and at most 1, not {}", s.top_p);
  if (s.seed < 0) fail(ErrorKind::usage, "--seed must be 0 or more, not {}", s.seed);
}

std::vector<Candidate> candidates(std::span<const float> logits, const Sampling& sampling) {
  check(!logits.empty(), "candidates: no logits");
  require_finite(logits);
  const auto all = static_cast<std::int64_t>(logits.size());
  const bool greedy = sampling.temperature == 0;
  const std::int64_t k = sampling.top_k == 0 ? all : std::min(sampling.top_k, all);
  const std::vector<std::int32_t> ids = largest(logits, greedy ? 1 : k);
  if (greedy) return {{ids.front(), 1.0}};
  std::vector<Candidate> list;
  for (const std::int32_t id : ids) {
    const double below = static_cast<double>(logits[id]) - logits[ids.front()];
    list.push_back({id, std::exp(below / sampling.temperature)});
  }
  if (sampling.top_p < 1) cut_to_nucleus(list, sampling.top_p);
  const double sum = total(list);
  for (Candidate& candidate : list) candidate.probability /= sum;
  return list;
}

std::int32_t pick(std::span<const Candidate> candidates, double uniform) {
  double reached = 0;
  for (const Candidate& candidate : candidates) {
    reached += candidate.probability;
    if (uniform < reached) return candidate.id;
  }
  return candidates.back().id;  // rounding left the sum a little below 1
}

std::int32_t sample(std::span<const float> logits, const Sampling& sampling, std::int64_t index) {
  const std::uint64_t key = derive_key(static_cast<std::uint64_t>(sampling.seed), "sampling");
  return pick(candidates(logits, sampling), random_uniform(key, static_cast<std::uint64_t>(index)));
}

}  // namespace skep
