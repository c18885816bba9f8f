#pragma once
// GPT-2 (Radford et al. 2019): token and position embeddings, pre-norm blocks of causal attention
// and MLP, a final norm, a head tied to the token embedding. Weights start at N(0, 0.02), those
// that write into the residual stream at 0.02 / sqrt(2 layers).
#include <vector>

#include "model/language_model.h"
#include "model/layers/dropout.h"
#include "model/layers/embedding.h"
#include "model/layers/layer_norm.h"
#include "model/layers/linear.h"

namespace skep {

class Gpt2Attention final : public Module {
 public:
  Gpt2Attention(const ModelConfig& config, std::int64_t layer);

 protected:
  Tensor forward(const Tensor& x, const Pass& pass) override;  // (B, T, C) -> (B, T, C)

 private:
  Tensor look_back(const Tensor& qkv, KvCache& cache) const;

  std::int64_t heads_, layer_, context_;
  Linear &qkv_, &out_;
};

class Gpt2Mlp final : public Module {
 public:
  explicit Gpt2Mlp(const ModelConfig& config);

 protected:
  Tensor forward(const Tensor& x, const Pass& pass) override;  // (B, T, C) -> (B, T, C)

 private:
  Linear &up_, &down_;
};

class Gpt2Block final : public Module {
 public:
  Gpt2Block(const ModelConfig& config, std::int64_t layer);

 protected:
  Tensor forward(const Tensor& x, const Pass& pass) override;  // (B, T, C) -> (B, T, C)

 private:
  LayerNorm& norm_1_;
  Gpt2Attention& attention_;
  Dropout& dropout_1_;
  LayerNorm& norm_2_;
  Gpt2Mlp& mlp_;
  Dropout& dropout_2_;
};

class Gpt2 final : public LanguageModel {
 public:
  explicit Gpt2(const ModelConfig& config);

  WeightedLosses losses(const Tensor& tokens, const Tensor& targets, const Tensor& task_weights,
                        const Pass& pass) override;

 protected:
  Tensor forward(const Tensor& tokens, const Pass& pass) override;  // (B, T) -> (B, T, V)

 private:
  Tensor features(const Tensor& tokens, const Pass& pass);  // (B, T) -> (B, T, C)
  const Tensor& head_weight() const;                        // (padded V, C)

  Embedding &tokens_, &positions_;
  const Buffer& position_ids_;  // 0, 1, … context - 1
  Dropout& dropout_;
  std::vector<Gpt2Block*> blocks_;
  LayerNorm& norm_;
  Linear* head_ = nullptr;  // only when not tied
};

}  // namespace skep
