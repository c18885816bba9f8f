#include "train/sync/unused_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/core/error.h"

namespace skep {

void UnusedParameters::found(std::vector<std::string> unused, std::int64_t step, int rank) {
  unused_ = std::move(unused);
  if (when_ == When::watch || unused_.empty()) return;
  fail(ErrorKind::usage,
       "step {}: parameter {}{} got no gradient on rank {}: the model does not use it. If that is "
       "meant, set ddp.find_unused_parameters to true",
       step, unused_.front(),
       unused_.size() > 1 ? fmt::format(" (and {} more)", unused_.size() - 1) : "", rank);
}

std::string UnusedParameters::compare(const ParameterStore& store, Communicator& comm) {
  if (when_ == When::refuse) return {};
  const auto& list = store.list();
  std::vector<std::int64_t> mine(list.size(), 0);
  for (std::size_t i = 0; i < list.size(); ++i)
    mine[i] = std::find(unused_.begin(), unused_.end(), list[i].path) != unused_.end() ? 1 : 0;
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(mine, all);
  if (last_.empty()) last_.assign(all.size(), 0);
  if (all == last_) return {};
  last_ = all;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::vector<int> ranks;
    for (int r = 0; r < comm.size(); ++r)
      if (all[static_cast<std::size_t>(r) * list.size() + i] != 0) ranks.push_back(r);
    if (!ranks.empty())
      lines.push_back(fmt::format("{} by rank{} {}", list[i].path, ranks.size() > 1 ? "s" : "",
                                  fmt::join(ranks, ", ")));
  }
  return lines.empty() ? "every parameter is used again"
                       : fmt::format("not used: {}", fmt::join(lines, "; "));
}

}  // namespace skep
