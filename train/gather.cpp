#include "train/gather.h"

#include <numeric>

namespace skep {

std::vector<std::string> gather_texts(Communicator& comm, const std::string& mine) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::vector<std::int64_t> length{static_cast<std::int64_t>(mine.size())};
  std::vector<std::int64_t> lengths(ranks);
  comm.all_gather(length, lengths);
  const std::vector<std::size_t> counts(lengths.begin(), lengths.end());
  const std::vector<std::uint8_t> sent(mine.begin(), mine.end());
  std::vector<std::uint8_t> all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  comm.all_gatherv(sent, counts, all);
  std::vector<std::string> texts;
  auto at = all.begin();
  for (const std::size_t count : counts) {
    texts.emplace_back(at, at + static_cast<std::ptrdiff_t>(count));
    at += static_cast<std::ptrdiff_t>(count);
  }
  return texts;
}

}  // namespace skep
