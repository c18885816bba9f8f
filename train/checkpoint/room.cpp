#include "train/checkpoint/room.h"

#include <algorithm>

#include "model/hf/model_folder.h"
#include "train/checkpoint/byte_counter.h"

namespace skep {
namespace {

std::string megabytes(double bytes) { return fmt::format("{:.3g} MB", bytes / 1e6); }

}  // namespace

double checkpoint_bytes(const CheckpointContent& content) {
  ByteCounter state;
  double states = 1;
  if (content.replicas == CheckpointContent::Replicas::equal) {
    content.archive(state);
  } else {
    archive_own_state(content, state);
    states = content.ranks;
  }
  double model = 0;
  for (const TensorSource& tensor : model_tensors(content.model.config(), content.parameters))
    model += static_cast<double>(tensor.layout.bytes);
  return model + states * state.bytes;
}

std::int64_t added_checkpoints(const Config& config, std::int64_t first_step,
                               std::int64_t present) {
  const std::int64_t every = config.checkpoint.every, steps = config.run.steps;
  if (first_step > 0 && first_step >= steps) return 0;
  // Besides the one at the end.
  const std::int64_t between =
      every > 0 && steps > 0 ? (steps - 1) / every - first_step / every : 0;
  return 1 + std::max<std::int64_t>(
                 0, std::min(between, most_checkpoints(config.checkpoint) - present));
}

std::string find_lack_of_room(const std::string& folder, std::optional<double> free, double bytes,
                              std::int64_t count) {
  if (!free || static_cast<double>(count) * bytes <= *free) return {};
  if (bytes > *free)
    fail(ErrorKind::storage,
         "{}: a checkpoint takes about {}, and {} are free there: make room, or set checkpoint.dir "
         "to another disk",
         folder, megabytes(bytes), megabytes(*free));
  return fmt::format(
      "{}: a checkpoint takes about {}, {} more are to exist at once, and {} are free there: the "
      "run will end at a save; set checkpoint.keep lower or checkpoint.dir to another disk",
      folder, megabytes(bytes), count, megabytes(*free));
}

}  // namespace skep
