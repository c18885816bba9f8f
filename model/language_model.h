#pragma once
// What every architecture here offers: token ids in, logits out, generation with a cache.
#include <memory>

#include "model/kv_cache.h"
#include "model/model_config.h"
#include "model/module.h"

namespace skep {

class LanguageModel : public Module {
 public:
  explicit LanguageModel(const ModelConfig& config) : config_(config) {}
  // operator(): (B, T) int32 -> logits (B, T, V)

  /// Sum of the cross-entropies of (B, T) targets, -1 ignored, and of the pass's z-loss: a scalar
  /// on the tape. Without logits in memory where the architecture can.
  virtual Tensor loss(const Tensor& tokens, const Tensor& targets, const Pass& pass) = 0;

  const ModelConfig& config() const { return config_; }
  std::unique_ptr<KvCache> make_cache() const { return std::make_unique<KvCache>(config_.layers); }

 protected:
  /// One block of the residual stream, with its activations kept or not as the pass says.
  static Tensor run_block(Module& block, const Tensor& x, const Pass& pass);

 private:
  ModelConfig config_;
};

/// The model a configuration names; Error(usage) for an unknown arch or sizes that do not fit.
std::unique_ptr<LanguageModel> make_model(const ModelConfig& config);

}  // namespace skep
