#pragma once
// What every architecture here offers: token ids in, logits out, generation with a cache.
#include <memory>

#include "model/kv_cache.h"
#include "model/model_config.h"
#include "model/module.h"

namespace skep {

struct WeightedLosses;  // engine/ops/ops.h

class LanguageModel : public Module {
 public:
  explicit LanguageModel(const ModelConfig& config) : config_(config) {}
  // operator(): (B, T) int32 -> logits (B, T, V)

  /// The losses of (B, T) targets, -1 ignored, summed over tokens: cross-entropy and squared
  /// log-sum-exp (z-loss), each times its weight, of task_weights (2), on the tape. Without logits
  /// in memory where the architecture can.
  virtual WeightedLosses losses(const Tensor& tokens, const Tensor& targets,
                                const Tensor& task_weights, const Pass& pass) = 0;
  /// The sum of the cross-entropies alone.
  Tensor loss(const Tensor& tokens, const Tensor& targets, const Pass& pass);

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
