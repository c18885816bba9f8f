#include "train/same_start.h"

#include <fmt/format.h>

#include <sstream>

#include "train/gather.h"

namespace skep {
namespace {

/// "lr = 0.1 and lr = 0.2": the first settings in which two printed configurations differ.
std::string first_difference(const std::string& a, const std::string& b) {
  std::istringstream one(a), other(b);
  std::string left, right, section;
  while (std::getline(one, left) && std::getline(other, right)) {
    if (left.starts_with("[")) section = left;
    if (left != right) return fmt::format("{} {} and {}", section, left, right);
  }
  return "one has more of them";
}

}  // namespace

std::string find_different_start(const Config& config, const std::vector<Placement>& ranks,
                                 Communicator& comm) {
  const std::vector<std::string> all = gather_texts(comm, print_config(config));
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0])
      return fmt::format(
          "ranks 0 and {} were started with different settings: {}; give all the same", r,
          first_difference(all[0], all[r]));
  // Products may round differently with another number of threads.
  if (config.comm.reduction != "exact") return {};
  for (std::size_t r = 1; r < ranks.size(); ++r)
    if (threads_of(ranks, static_cast<int>(r)) != threads_of(ranks, 0))
      return fmt::format(
          "comm.reduction exact needs the same number of threads everywhere: rank 0 has {}, rank "
          "{} has "
          "{}; set run.threads",
          threads_of(ranks, 0), r, threads_of(ranks, static_cast<int>(r)));
  return {};
}

}  // namespace skep
