#include "model/language_model.h"

#include "engine/autograd/recompute.h"
#include "engine/core/error.h"
#include "engine/ops/ops.h"
#include "model/gpt2.h"

namespace skep {

std::string to_string(const ModelConfig& c) {
  return fmt::format(
      "{}, {} layers, {} heads, width {}, context {}, vocab {} in {} rows, {}, {}, dropout {}",
      c.arch, c.layers, c.heads, c.width, c.context, c.vocab, c.padded_vocab,
      c.bias ? "biases" : "no biases", c.tied ? "tied head" : "own head", c.dropout);
}

Tensor LanguageModel::loss(const Tensor& tokens, const Tensor& targets, const Pass& pass) {
  return losses(tokens, targets, tensor_of(std::vector<double>{1, 0}, {2}), pass).total;
}

Tensor LanguageModel::run_block(Module& block, const Tensor& x, const Pass& pass) {
  if (pass.activations == Pass::Activations::keep) return block(x, pass);
  return recomputed([&block, pass](const Tensor& in) { return block(in, pass); }, x);
}

std::unique_ptr<LanguageModel> make_model(const ModelConfig& config) {
  if (config.arch != "gpt2")
    fail(ErrorKind::usage, "model.arch \"{}\" is not known; known: gpt2", config.arch);
  if (config.heads < 1 || config.width % config.heads != 0)
    fail(ErrorKind::usage, "model.width {} is not a multiple of model.heads {}", config.width,
         config.heads);
  return std::make_unique<Gpt2>(config);
}

}  // namespace skep
