#include "model/gpt2.h"

#include <cmath>
#include <numeric>

#include "engine/backends/transfer.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

constexpr double weight_deviation = 0.02;

Linear::Bias bias_of(const ModelConfig& c) { return c.bias ? Linear::Bias::yes : Linear::Bias::no; }
Init residual_init(const ModelConfig& c) {
  return normal_init(weight_deviation / std::sqrt(2.0 * static_cast<double>(c.layers)));
}
Init table_init(std::int64_t rows) {
  Init init = normal_init(weight_deviation);
  init.rows = rows;
  return init;
}

Tensor counting(std::int64_t count) {
  std::vector<std::int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  return tensor_of(ids, {count});
}

}  // namespace

Gpt2Attention::Gpt2Attention(const ModelConfig& c, std::int64_t layer)
    : heads_(c.heads),
      layer_(layer),
      context_(c.context),
      qkv_(child<Linear>("qkv", c.width, 3 * c.width, bias_of(c), normal_init(weight_deviation))),
      out_(child<Linear>("out", c.width, c.width, bias_of(c), residual_init(c),
                         Linear::Output::wide)) {}

Tensor Gpt2Attention::forward(const Tensor& x, const Pass& pass) {
  const Tensor qkv = qkv_(x, pass);  // (B, T, 3C)
  const Tensor y =
      pass.cache ? look_back(qkv, *pass.cache) : packed_attention(qkv, heads_);  // (B, T, C)
  return out_(y, pass);
}

Tensor Gpt2Attention::look_back(const Tensor& qkv, KvCache& cache) const {
  const std::int64_t batch = qkv.size(0), time = qkv.size(1), width = qkv.size(2) / 3;
  const auto parts = split(qkv, -1, 3);
  auto as_heads = [&](const Tensor& t) {
    return reshape(t, {batch, time, heads_, width / heads_});
  };
  const KvCache::Pair seen = cache.append(layer_, as_heads(parts[1]), as_heads(parts[2]), context_);
  return reshape(attention(as_heads(parts[0]), seen.key, seen.value, {}, {}), {batch, time, width});
}

Gpt2Mlp::Gpt2Mlp(const ModelConfig& c)
    : up_(child<Linear>("up", c.width, 4 * c.width, bias_of(c), normal_init(weight_deviation))),
      down_(child<Linear>("down", 4 * c.width, c.width, bias_of(c), residual_init(c),
                          Linear::Output::wide)) {}

Tensor Gpt2Mlp::forward(const Tensor& x, const Pass& pass) {
  return down_(gelu(up_(x, pass)), pass);
}

Gpt2Block::Gpt2Block(const ModelConfig& c, std::int64_t layer)
    : norm_1_(child<LayerNorm>("norm_1", c.width, bias_of(c))),
      attention_(child<Gpt2Attention>("attention", c, layer)),
      dropout_1_(child<Dropout>("dropout_1", c.dropout)),
      norm_2_(child<LayerNorm>("norm_2", c.width, bias_of(c))),
      mlp_(child<Gpt2Mlp>("mlp", c)),
      dropout_2_(child<Dropout>("dropout_2", c.dropout)) {}

Tensor Gpt2Block::forward(const Tensor& x, const Pass& pass) {
  const auto [h, normed] = norm_2_.join(x, dropout_1_(attention_(norm_1_(x, pass), pass), pass));
  return add(h, dropout_2_(mlp_(normed, pass), pass));
}

Gpt2::Gpt2(const ModelConfig& c)
    : LanguageModel(c),
      tokens_(child<Embedding>("token_embedding", c.padded_vocab, c.width, table_init(c.vocab))),
      positions_(child<Embedding>("position_embedding", c.context, c.width,
                                  normal_init(weight_deviation))),
      position_ids_(buffer("position_ids", counting(c.context))),
      dropout_(child<Dropout>("dropout", c.dropout)),
      blocks_([&] {
        std::vector<Gpt2Block*> blocks;
        for (std::int64_t i = 0; i < c.layers; ++i)
          blocks.push_back(&child<Gpt2Block>("blocks." + std::to_string(i), c, i));
        return blocks;
      }()),
      norm_(child<LayerNorm>("final_norm", c.width, bias_of(c))) {
  if (!c.tied)
    head_ = &child<Linear>("head", c.width, c.padded_vocab, Linear::Bias::no, table_init(c.vocab));
}

Tensor Gpt2::features(const Tensor& tokens, const Pass& pass) {
  const std::int64_t seen = pass.cache ? pass.cache->length() : 0, time = tokens.size(1);
  check(seen + time <= config().context, "gpt2: {} positions, but the context is {}", seen + time,
        config().context);
  const Tensor embedded = tokens_(tokens, pass);                                      // (B, T, C)
  const Tensor placed = positions_(position_ids_.value.sliced(0, seen, time), pass);  // (T, C)
  Tensor x = dropout_(add(embedded, placed), pass);
  for (Gpt2Block* block : blocks_) x = run_block(*block, x, pass);
  if (pass.cache) pass.cache->advance(time);
  return norm_(x, pass);
}

const Tensor& Gpt2::head_weight() const { return head_ ? head_->weight() : tokens_.weight(); }

WeightedLosses Gpt2::losses(const Tensor& tokens, const Tensor& targets, const Tensor& task_weights,
                            const Pass& pass) {
  const Tensor x = features(tokens, pass);
  return head_losses(x, head_weight(), to_device(targets, x.device()), config().vocab,
                     to_device(task_weights, x.device()));
}

Tensor Gpt2::forward(const Tensor& tokens, const Pass& pass) {
  // Padding rows carry no probability: they are not among the logits at all.
  const Tensor x = features(tokens, pass), head = slice(head_weight(), 0, 0, config().vocab);
  return linear(x, head, {}, compute_type(x.dtype()));
}

}  // namespace skep
