// Prints the logits that a model folder's weights give for token ids, a line a position, for
// load_in_transformers.py to compare.
// usage: print_logits MODEL_FOLDER ID...
#include <cstdio>

#include "engine/autograd/no_grad.h"
#include "engine/core/error.h"
#include "model/hf/model_folder.h"

namespace skep {
namespace {

void print_logits(const std::string& folder, const std::vector<std::int32_t>& ids) {
  const LoadedModel loaded = open_model(folder);
  const NoGrad pause;
  const auto count = static_cast<std::int64_t>(ids.size());
  const Tensor logits = (*loaded.model)(tensor_of(ids, {1, count}), Pass{});  // (1, T, V)
  const std::vector<double> values = to_doubles(logits);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::printf("%.9g%c", values[i],
                (i + 1) % static_cast<std::size_t>(logits.size(-1)) == 0 ? '\n' : ' ');
}

}  // namespace
}  // namespace skep

int main(int argc, char** argv) {
  try {
    if (argc < 3) skep::fail(skep::ErrorKind::usage, "usage: print_logits MODEL_FOLDER ID...");
    std::vector<std::int32_t> ids;
    for (int i = 2; i < argc; ++i) ids.push_back(std::stoi(argv[i]));
    skep::print_logits(argv[1], ids);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
