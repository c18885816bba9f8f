#include "train/data/chaos_seed.h"

#include <chrono>
#include <filesystem>
#include <vector>

#include "engine/core/random.h"
#include "train/checkpoint/content.h"
#include "train/checkpoint/state_archive.h"

namespace skep {

std::int64_t draw_chaos_seed(Communicator& comm, const std::string& host) {
  std::vector<std::int64_t> seed(1);
  if (comm.rank() == 0) {
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    // Short enough to be typed.
    seed[0] =
        1 + static_cast<std::int64_t>(derive_key(static_cast<std::uint64_t>(now), host) >> 33);
  }
  comm.broadcast(seed, 0);
  return seed[0];
}

std::int64_t saved_chaos_seed(const std::string& checkpoint) {
  if (checkpoint.empty()) return 0;
  // In a folder of each rank where ranks have state of their own.
  for (const std::string& folder : {checkpoint, checkpoint + "/" + rank_folder(0)}) {
    if (!std::filesystem::exists(folder + "/state.json")) continue;
    std::int64_t seed = 0;
    make_loading_archive(folder)->field("chaos_seed", seed);
    return seed;
  }
  return 0;
}

}  // namespace skep
