// Odd shapes against PyTorch in fp64: T = 1, 7, 65, 100, head size 24, V = 65 and 50257, in every
// type the trainer computes in. Narrow operands hold the references' own numbers, so what differs
// is the arithmetic: results and gradients of eight bits, and probabilities rounded to eight bits
// before they are multiplied on.
#include <catch2/catch.hpp>

#include "engine/ops/ops.h"
#include "tests/engine/helpers.h"
#include "tests/parity/odd_shapes.h"

namespace skep::testing {
namespace {

using test::drawn;
using test::drawn_targets;
using test::OddShapes;

// One case of one op: "linear.T7". Operands have the roles that mixed precision gives them.
class Case {
 public:
  Case(OddShapes& references, std::string name, DType dtype)
      : references_(references), name_(std::move(name)), dtype_(dtype) {}

  Tensor operand(const std::string& key, const Shape& shape, double scale = 1) {
    return leaf(key, drawn(name_ + "." + key, shape, dtype_, scale));
  }
  /// Its gradient gathers in fp32. The reference has the first `rows` of it.
  Tensor weight(const std::string& key, const Shape& shape, std::int64_t rows) {
    const Tensor t = operand(key, shape);
    t.slot()->dtype = compute_type(dtype_);
    leaves_.back().rows = rows;
    return t;
  }
  Tensor weight(const std::string& key, const Shape& shape) { return weight(key, shape, shape[0]); }
  /// Never narrow.
  Tensor wide(const std::string& key, const Shape& shape) {
    return leaf(key, drawn(name_ + "." + key, shape, compute_type(dtype_)));
  }
  Tensor targets(std::int64_t classes, std::int64_t count) const {
    return drawn_targets(name_ + ".targets", classes, {count});
  }
  /// The worst error of y and of every gradient.
  double error(const Tensor& y) {
    Tape& tape = *Tape::current();
    double worst = references_.error(name_ + ".y", y);
    if (y.rank() > 0) {
      backward_from(tape, {y}, {drawn(name_ + ".gy", y.shape(), y.dtype())});
    } else {
      tape.backward(y);
    }
    for (const auto& [key, t, rows] : leaves_)
      worst = std::max(worst, references_.error(name_ + ".g" + key, grad_of(t).sliced(0, 0, rows)));
    return worst;
  }

  DType dtype() const { return dtype_; }

 private:
  struct Leaf {
    std::string key;
    Tensor tensor;
    std::int64_t rows;
  };

  Tensor leaf(const std::string& key, const Tensor& t) {
    leaves_.push_back({key, with_grad(t), t.size(0)});
    return leaves_.back().tensor;
  }

  OddShapes& references_;
  std::string name_;
  DType dtype_;
  std::vector<Leaf> leaves_;
};

struct Lengths {
  std::int64_t tokens, batch;
};
constexpr Lengths lengths[] = {{1, 2}, {7, 2}, {65, 1}, {100, 1}};

// References are stored as fp32. A bf16 result is off by up to 2^-9 of itself; a gradient that went
// through several roundings, and partly cancels, by a few times that.
double tolerance(DType dtype) {
  return dtype == DType::f64 ? 3e-7 : dtype == DType::f32 ? 3e-6 : 0x1p-6;
}

using Body = std::function<Tensor(Case&)>;

void check_case(OddShapes& references, const std::string& name, DType dtype, const Body& body) {
  INFO(name << " in " << name_of(dtype));
  Tape tape;
  Case c(references, name, dtype);
  CHECK(c.error(body(c)) < tolerance(dtype));
}

void check_lengths(OddShapes& references, DType dtype) {
  for (const auto [T, batch] : lengths) {
    const auto run = [&, T = T](const std::string& op, const std::string& more, const Body& body) {
      check_case(references, op + ".T" + std::to_string(T) + more, dtype, body);
    };
    run("packed_attention", "", [&, T = T, batch = batch](Case& c) {
      return packed_attention(c.operand("qkv", {batch, T, 3 * 2 * 24}), 2);
    });
    run("linear", "", [&, T = T](Case& c) {
      return linear(c.operand("input", {T, 24}), c.weight("weight", {65, 24}),
                    c.wide("bias", {65}));
    });
    run("head", ".V65", [&, T = T](Case& c) {
      return head_cross_entropy(c.operand("x", {T, 24}, 0.25), c.weight("weight", {72, 24}),
                                c.targets(65, T), 65);
    });
    run("layer_norm", "", [&, T = T](Case& c) {
      return layer_norm(c.wide("x", {T, 24}), c.wide("gain", {24}), c.wide("bias", {24}), 1e-5,
                        c.dtype());
    });
  }
  for (const auto& [T, S] : {std::pair<std::int64_t, std::int64_t>{1, 65}, {7, 100}}) {
    const std::string name = "attention.T" + std::to_string(T) + ".S" + std::to_string(S);
    check_case(references, name, dtype, [T = T, S = S](Case& c) {
      return attention(c.operand("q", {1, T, 4, 24}), c.operand("k", {1, S, 2, 24}),
                       c.operand("v", {1, S, 2, 24}), {}, {});
    });
  }
}

void check_vocabularies(OddShapes& references, DType dtype) {
  for (std::int64_t V : {65, 50257}) {
    const std::string size = ".T7.V" + std::to_string(V);
    check_case(references, "cross_entropy" + size, dtype, [&](Case& c) {
      return cross_entropy(c.operand("logits", {7, V}), c.targets(V, 7));
    });
    check_case(references, "z_cross_entropy" + size, dtype, [&](Case& c) {
      return cross_entropy(c.operand("logits", {7, V}), c.targets(V, 7), 0.25);
    });
    check_case(references, "softmax" + size, dtype, [&](Case& c) {
      return softmax(c.operand("x", {7, V}));
    });
    check_case(references, "gelu" + size, dtype, [&](Case& c) {
      return gelu(c.operand("x", {7, V}));
    });
  }
  check_case(references, "z_head.T65.V65", dtype, [](Case& c) {
    return head_cross_entropy(c.operand("x", {65, 24}, 0.25), c.weight("weight", {72, 24}),
                              c.targets(65, 65), 65, 0.25);
  });
  check_case(references, "head.T100.V50257", dtype, [](Case& c) {
    return head_cross_entropy(c.operand("x", {100, 24}, 0.125),
                              c.weight("weight", {50304, 24}, 50257), c.targets(50257, 100), 50257);
  });
  check_case(references, "embedding.T100.V50257", dtype, [](Case& c) {
    auto tokens = test::drawn_below("embedding.T100.V50257.tokens", 50257, 100);
    tokens[0] = tokens[99] = 50256;
    return embedding(c.operand("table", {50257, 24}), tensor_of(tokens, {100}));
  });
}

TEST_CASE("odd shapes equal PyTorch's, and every reference is compared") {
  OddShapes references(SKEP_SOURCE_DIR "/tests/parity");
  const DType dtype = GENERATE(DType::f64, DType::f32, DType::bf16);
  check_lengths(references, dtype);
  check_vocabularies(references, dtype);
  for (const std::string& name : references.not_compared(""))
    CHECK_THAT(name, Catch::StartsWith("gpt2."));
}

}  // namespace
}  // namespace skep::testing
