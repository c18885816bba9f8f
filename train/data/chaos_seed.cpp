#include "train/data/chaos_seed.h"

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/files.h"
#include "engine/core/random.h"
#include "train/checkpoint/content.h"

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
    const std::string path = folder + "/" + state_numbers;
    if (!std::filesystem::exists(path)) continue;
    const auto numbers = nlohmann::json::parse(read_file(path), nullptr, false);
    const auto seed = numbers.is_object() ? numbers.find("chaos_seed") : numbers.end();
    if (seed == numbers.end() || !seed->is_number_integer())
      fail(ErrorKind::data, "{}: chaos_seed is missing", path);
    return seed->get<std::int64_t>();
  }
  return 0;
}

}  // namespace skep
