#include "train/observe/narrator.h"

namespace skep {

std::shared_ptr<const Probe> make_narrator(Communicator& comm) {
  auto probe = std::make_shared<Probe>();
  const auto name = [](const std::string& path) -> std::string_view {
    return path.empty() ? "the model" : std::string_view(path);
  };
  probe->enter = [=, &comm](const std::string& path) { comm.doing("forward of ", name(path)); };
  probe->backward = [=, &comm](const std::string& path, const Tensor&) {
    comm.doing("backward of ", name(path));
  };
  return probe;
}

}  // namespace skep
