// Every operation of tests/parity/ops.safetensors, forward and gradients, against what PyTorch
// computed in float64 (tests/parity/README.md).
#include <catch2/catch.hpp>
#include <set>

#include "engine/ops/ops.h"
#include "model/hf/safetensors.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

const SafetensorsFile& references() {
  static const auto file = SafetensorsFile::open(SKEP_SOURCE_DIR "/tests/parity/ops.safetensors");
  return file;
}

template <class Stored, class T = Stored>
Tensor read_as(const StoredTensor& stored) {
  Shape shape;
  for (std::int64_t n : stored.shape) shape.push_back(n);
  std::vector<T> values(shape.numel());
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored x;
    std::memcpy(&x, stored.data.data() + i * sizeof x, sizeof x);
    values[i] = static_cast<T>(x);
  }
  return tensor_of(values, shape);
}

// One case of one operation: "softmax.0".
class Case {
 public:
  Case(const std::string& name, DType dtype) : name_(name), dtype_(dtype) {}

  bool has(const std::string& key) const { return references().find(name_ + "." + key); }
  Tensor reference(const std::string& key) const {
    const StoredTensor* stored = references().find(name_ + "." + key);
    if (!stored) FAIL("no tensor " << name_ << "." << key);
    if (stored->type == StoredType::boolean) return read_as<std::uint8_t, std::int32_t>(*stored);
    if (stored->type == StoredType::i32) return read_as<std::int32_t>(*stored);
    return stored->type == StoredType::f64 ? read_as<double>(*stored) : read_as<float>(*stored);
  }
  /// An input of the op; a leaf of its type when it is a float, undefined when the case has none.
  Tensor input(const std::string& key) {
    if (!has(key)) return {};
    const Tensor t = reference(key);
    if (!is_float(t.dtype())) return t;
    const Tensor leaf = with_grad(converted(t, dtype_));
    leaves_.emplace_back(key, leaf);
    return leaf;
  }
  /// The worst relative error of y and of every input's gradient.
  double error(Tape& tape, const Tensor& y) const {
    double worst = relative_error(y, reference("y"));
    backward_from(tape, {y}, {converted(reference("gy"), dtype_)});
    return std::max(worst, gradient_error());
  }
  double gradient_error() const {
    double worst = 0;
    for (const auto& [key, leaf] : leaves_) {
      const Tensor want = reference("g" + key);
      double error = relative_error(grad_of(leaf), want);
      // Zero in exact arithmetic, so noise in the reference too: no digits to agree on.
      double size = 0;
      for (double g : to_doubles(want)) size = std::max(size, std::abs(g));
      if (size < 1e-9 && grad_of(leaf).defined())
        error = largest_error(to_doubles(grad_of(leaf)), to_doubles(want));
      worst = std::max(worst, error);
    }
    return worst;
  }

 private:
  std::string name_;
  DType dtype_;
  std::vector<std::pair<std::string, Tensor>> leaves_;
};

// (B, H, T, D) <-> (B, T, H, D).
Tensor heads_inside(const Tensor& t) { return transpose(t, 1, 2); }

double run_case(const std::string& operation, Case c) {
  Tape tape;
  if (operation == "linear")
    return c.error(tape, linear(c.input("x"), c.input("weight"), c.input("bias")));
  if (operation == "matmul") return c.error(tape, matmul(c.input("a"), c.input("b")));
  if (operation == "gelu") return c.error(tape, gelu(c.input("x")));
  if (operation == "softmax") return c.error(tape, softmax(c.input("x")));
  if (operation == "layer_norm")
    return c.error(tape, layer_norm(c.input("x"), c.input("gain"), c.input("bias"), 1e-5));
  if (operation == "embedding") return c.error(tape, embedding(c.input("weight"), c.input("ids")));
  if (operation == "causal_attention" || operation == "masked_attention") {
    const bool causal = operation == "causal_attention";
    using Causal = AttentionOptions::Causal;
    const Tensor q = c.input("q"), k = c.input("k"), v = c.input("v");
    return c.error(tape, heads_inside(attention(heads_inside(q), heads_inside(k), heads_inside(v),
                                                c.input("mask"),
                                                {.causal = causal ? Causal::yes : Causal::no})));
  }
  if (operation == "cross_entropy") {
    const Tensor targets = c.input("targets");
    const Tensor loss = cross_entropy(c.input("logits"), targets);
    double count = 0;
    for (double t : to_doubles(targets)) count += t >= 0;
    CHECK(count == c.reference("loss_count").item());
    const double error = relative_error(loss, c.reference("loss_sum"));
    tape.backward(loss);
    return std::max(error, c.gradient_error());
  }
  FAIL("no op for the reference operation " << operation);
  return INFINITY;
}

// What fp32 cannot resolve, whatever the algorithm: a mean of 10000 has steps of 2^-10 of the unit
// variance around it; scores of 46341 have steps of 2^-8, and so has the log-sum-exp kept for
// backward.
double fp32_limit(const std::string& name) {
  if (name == "layer_norm.4") return 2e-3;
  if (name == "causal_attention.3") return 4e-3;
  return 1e-5;
}

TEST_CASE("every reference operation, in fp64 and in fp32") {
  std::set<std::string> names;
  for (const StoredTensor& t : references().tensors()) {
    const auto dot = t.name.find('.', t.name.find('.') + 1);
    names.insert(t.name.substr(0, dot));
  }
  REQUIRE(names.size() == 25);
  for (const std::string& name : names) {
    const std::string operation = name.substr(0, name.find('.'));
    INFO(name);
    CHECK(run_case(operation, Case(name, DType::f64)) < 1e-10);
    CHECK(run_case(operation, Case(name, DType::f32)) < fp32_limit(name));
  }
}

}  // namespace
}  // namespace skep::testing
