// A whole GPT-2 at odd shapes against PyTorch in fp64, in fp32 and in mixed precision: two heads of
// 24, T = 1, 7, 65, 100, V = 65 and 50257 (in 50304 rows).
#include <catch2/catch.hpp>
#include <memory>

#include "engine/autograd/tape.h"
#include "engine/ops/ops.h"
#include "model/hf/gpt2_names.h"
#include "model/language_model.h"
#include "model/parameter_store.h"
#include "tests/parity/odd_shapes.h"

using namespace skep;
using namespace skep::test;

namespace {

struct Sizes {
  std::int64_t layers, tokens, vocab, rows;
  std::string name() const { return fmt::format("gpt2.T{}.V{}", tokens, vocab); }
};

// The part of a parameter that the reference has: a table without its padding.
Tensor without_padding(const Tensor& t, const std::string& path, const Sizes& s) {
  return path == "token_embedding.weight" ? t.sliced(0, 0, s.vocab) : t;
}

// As Hugging Face lays it out.
Tensor stored_layout(const Tensor& t, HfName::Layout layout) {
  return layout == HfName::Layout::transposed ? t.transposed(0, 1) : t;
}

class DrawnGpt2 {
 public:
  DrawnGpt2(const Sizes& s, DType compute) : s_(s) {
    ModelConfig config;
    config.layers = s.layers;
    config.heads = 2;
    config.width = 48;
    config.context = s.tokens;
    config.vocab = s.vocab;
    config.padded_vocab = s.rows;
    model_ = make_model(config);
    store_ = std::make_unique<ParameterStore>(*model_, 1, DType::f32, compute);
    for (const auto& entry : store_->list()) draw(entry);
    store_->commit();
    tokens_ = tensor_of(drawn_below(s.name() + ".tokens", s.vocab, 2 * s.tokens), {2, s.tokens});
  }

  double loss() {
    Tape tape;
    store_->clear_gradients();
    const Tensor targets = drawn_targets(s_.name() + ".targets", s_.vocab, {2, s_.tokens});
    const Tensor loss = model_->loss(tokens_, targets, Pass{});
    tape.backward(loss);
    store_->zero_unwritten();
    return loss.item();
  }
  Tensor last_logits() {
    const NoGrad pause;
    return (*model_)(tokens_, Pass{}).sliced(1, s_.tokens - 1, 1);
  }
  /// The gradient's name in the references, and what it should equal.
  std::vector<std::pair<std::string, Tensor>> gradients() const {
    std::vector<std::pair<std::string, Tensor>> all;
    for (const auto& entry : store_->list()) {
      const HfName hf = gpt2_hf_name(entry.path);
      all.emplace_back(s_.name() + ".grad.transformer." + hf.name,
                       stored_layout(without_padding(entry.grad, entry.path, s_), hf.layout));
    }
    return all;
  }

 private:
  void draw(const ParameterStore::Entry& entry) {
    const HfName hf = gpt2_hf_name(entry.path);
    Tensor value = without_padding(entry.value, entry.path, s_);
    value.set_slot(nullptr);
    const Tensor to = stored_layout(value, hf.layout);
    Tensor from = drawn(s_.name() + ".transformer." + hf.name, to.shape(), DType::f32, 1.0 / 16);
    if (to.rank() == 1 && entry.path.ends_with(".weight")) {  // a norm's gain
      const NoGrad pause;
      from = add(from, tensor_of(std::vector<float>{1}, {1}));
    }
    copy(to, from);
  }

  Sizes s_;
  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<ParameterStore> store_;
  Tensor tokens_;
};

}  // namespace

TEST_CASE("GPT-2 at odd shapes equals PyTorch's, in fp32 and mixed precision") {
  OddShapes references(SKEP_PARITY_FOLDER);
  const Sizes s = GENERATE(Sizes{1, 1, 65, 65}, Sizes{1, 7, 65, 65}, Sizes{1, 65, 65, 65},
                           Sizes{2, 100, 65, 65}, Sizes{1, 7, 50257, 50304});
  const DType compute = GENERATE(DType::f32, DType::bf16);
  const double tolerance = compute == DType::f32 ? 1e-5 : 0x1p-5;
  INFO(s.name() << " in " << name_of(compute));
  DrawnGpt2 gpt(s, compute);
  CHECK(gpt.loss() == Approx(references.number(s.name() + ".loss_sum"))
                          .epsilon(compute == DType::f32 ? 1e-6 : 0x1p-9));
  CHECK(references.error(s.name() + ".logits", gpt.last_logits()) < tolerance);
  for (const auto& [name, gradient] : gpt.gradients()) {
    INFO(name);
    CHECK(references.error(name, gradient) < tolerance);
  }
  CHECK(references.not_compared(s.name() + ".").empty());
}
