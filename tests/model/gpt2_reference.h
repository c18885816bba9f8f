#pragma once
// A GPT-2 with the weights, batch and expected values of a reference file made by PyTorch in fp64
// (tests/parity/README.md).
#include <cmath>
#include <memory>
#include <string>

#include "engine/autograd/tape.h"
#include "engine/kernels/copy.h"
#include "engine/ops/ops.h"
#include "model/hf/gpt2_names.h"
#include "model/hf/safetensors.h"
#include "model/language_model.h"
#include "model/parameter_store.h"

namespace skep::test {

struct Reference {
  explicit Reference(const std::string& name)
      : file(SafetensorsFile::open(std::string(SKEP_PARITY_FOLDER) + "/" + name + ".safetensors")) {
  }

  Tensor tensor(const std::string& name) const {
    const StoredTensor* t = file.find(name);
    check(t != nullptr, "the reference has no {}", name);
    Shape shape;
    for (std::int64_t n : t->shape) shape.push_back(n);
    const DType dtype = t->type == StoredType::i32   ? DType::i32
                        : t->type == StoredType::f64 ? DType::f64
                                                     : DType::f32;
    Tensor out = empty(shape, dtype);
    std::copy(t->data.begin(), t->data.end(), static_cast<std::byte*>(out.raw()));
    return out;
  }
  double number(const std::string& name) const { return tensor(name).item(); }
  bool has(const std::string& name) const { return file.find(name) != nullptr; }

  SafetensorsFile file;
};

/// The stored tensor `group` + HF name, in our layout.
inline Tensor in_our_layout(const Reference& reference, const std::string& group,
                            const std::string& path) {
  const HfName hf = gpt2_hf_name(path);
  const Tensor t = reference.tensor(group + "transformer." + hf.name);
  return hf.layout == HfName::Layout::transposed ? contiguous(t.transposed(0, 1)) : t;
}

struct Gpt2Under {
  Gpt2Under(const Reference& reference, std::int64_t layers, std::int64_t heads, DType dtype) {
    ModelConfig config;
    const Tensor table = reference.tensor("transformer.wte.weight");
    config.layers = layers;
    config.heads = heads;
    config.width = table.size(1);
    config.vocab = config.padded_vocab = table.size(0);
    config.context = reference.tensor("transformer.wpe.weight").size(0);
    config.bias = reference.has("transformer.ln_f.bias");
    model = make_model(config);
    store = std::make_unique<ParameterStore>(*model, 1, dtype);
    for (const auto& entry : store->list()) {
      Tensor value = entry.value;
      value.set_slot(nullptr);
      copy(value, in_our_layout(reference, "", entry.path));
    }
  }
  /// Sum of token losses of the reference's batch; gradients in the store.
  double run(const Reference& reference) {
    Tape tape;
    store->clear_gradients();
    const Tensor loss =
        model->loss(reference.tensor("tokens"), reference.tensor("targets"), Pass{});
    tape.backward(loss);
    store->zero_unwritten();
    return loss.item();
  }

  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<ParameterStore> store;
};

/// |a - b| / |b| by Euclidean norm.
inline double relative_difference(const Tensor& a, const Tensor& b) {
  const auto x = to_doubles(a), y = to_doubles(b);
  check(x.size() == y.size(), "shapes {} and {} differ", a.shape(), b.shape());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    norm += y[i] * y[i];
  }
  return std::sqrt(difference) / (std::sqrt(norm) + 1e-30);
}
inline double norm(const Tensor& t) {
  double total = 0;
  for (double x : to_doubles(t)) total += x * x;
  return std::sqrt(total);
}

}  // namespace skep::test
