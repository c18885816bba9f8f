// Recomputation: the same bits as keeping everything, one call per gradient, less memory.
#include <catch2/catch.hpp>

#include "engine/autograd/gradcheck.h"
#include "engine/autograd/recompute.h"
#include "engine/autograd/tape.h"
#include "engine/backends/backend.h"
#include "engine/ops/ops.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

Tensor leaf(const Shape& shape, std::uint64_t seed, DType dtype = DType::f32) {
  std::vector<double> values(shape.numel());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = random_normal(seed, static_cast<std::int64_t>(i));
  return with_grad(converted(tensor_of(values, shape), dtype));
}

// A small block with dropout: y = x + dropout(gelu(x Wᵀ)) Wᵀ; the weight is used twice.
Tensor block(const Tensor& x, const Tensor& weight, std::uint64_t key) {
  return add(x, linear(dropout(gelu(linear(x, weight, {})), 0.3, key, 0), weight, {}));
}

enum class How { keep, recompute, nested };

Tensor run_block(How how, const Tensor& x, const Tensor& weight, std::uint64_t key) {
  const auto plain = [weight, key](const Tensor& in) { return block(in, weight, key); };
  if (how == How::keep) return plain(x);
  if (how == How::recompute) return recomputed(plain, x);
  return recomputed([=](const Tensor& in) { return recomputed(plain, mul(in, in)); }, x);
}

}  // namespace

TEST_CASE("recompute: gradients are those of keeping, bit for bit, and come once") {
  const Tensor x = leaf({6, 16}, 1), shared = leaf({16, 16}, 2), own = leaf({16, 16}, 3);
  std::vector<std::vector<double>> wanted;
  for (const How how : {How::keep, How::recompute}) {
    int calls = 0;
    for (const Tensor* t : {&x, &shared, &own}) {
      t->slot()->written = false;
      t->slot()->value = {};
      t->slot()->on_ready = [&calls](const GradSlot&) { ++calls; };
    }
    Tape tape;
    const Tensor y = run_block(how, x, shared, 7);
    const Tensor z = run_block(how, run_block(how, y, own, 8), shared, 9);
    const Tensor loss = sum(mul(z, y));
    if (how == How::recompute) CHECK(tape.nodes().size() == 5);  // three parts, mul, sum
    tape.backward(loss);
    CHECK(calls == 3);
    const std::vector<std::vector<double>> got{to_doubles(z), to_doubles(grad_of(x)),
                                               to_doubles(grad_of(shared)),
                                               to_doubles(grad_of(own))};
    if (how == How::keep) wanted = got;
    CHECK(got == wanted);
  }
  CHECK(Node::live() == 0);
}

TEST_CASE("recompute: finite differences agree, nested too") {
  for (const How how : {How::recompute, How::nested}) {
    const auto function = [how](const std::vector<Tensor>& in) {
      return std::vector<Tensor>{run_block(how, in[0], in[1], 5)};
    };
    const auto result =
        gradcheck(function, {leaf({3, 4}, 1, DType::f64), leaf({4, 4}, 2, DType::f64)});
    INFO(result.where);
    CHECK(result.elements == 28);
    CHECK(result.worst_error < 1e-7);
  }
}

TEST_CASE("recompute: several inputs and results; a result nobody uses; an input passed through") {
  const Tensor a = leaf({2, 3}, 1), b = leaf({2, 3}, 2);
  Tape tape;
  const auto out = recomputed(
      [](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{mul(in[0], in[1]), in[0], gelu(in[1])};
      },
      std::vector<Tensor>{a, b});
  CHECK(out[1].slot() == a.slot());
  tape.backward(sum(add(out[0], out[1])));
  // d(ab + a)/da = b + 1 and d/db = a.
  std::vector<double> expected;
  for (double v : to_doubles(b)) expected.push_back(static_cast<float>(v + 1));
  CHECK(to_doubles(grad_of(a)) == expected);
  CHECK(to_doubles(grad_of(b)) == to_doubles(a));
}

TEST_CASE("recompute: without a tape it only computes") {
  const Tensor x = leaf({2, 16}, 1), weight = leaf({16, 16}, 2);
  CHECK_FALSE(run_block(How::recompute, x, weight, 7).wants_grad());
  Tape tape;
  {
    const NoGrad pause;
    CHECK_FALSE(run_block(How::recompute, x, weight, 7).wants_grad());
  }
  CHECK(tape.nodes().empty());
}

TEST_CASE("recompute: a changed input is refused, a fault names its place") {
  const Tensor x = leaf({2, 16}, 1), weight = leaf({16, 16}, 2);
  {
    Tape tape;
    const Tensor loss = sum(run_block(How::recompute, x, weight, 7));
    x.storage()->bump_version();
    CHECK_THROWS_WITH(tape.backward(loss),
                      Catch::StartsWith("recompute: ") && Catch::Contains("changed in place"));
  }
  int calls = 0;
  Tape tape;
  const Tensor loss = sum(
      recomputed([&](const Tensor& in) { return linear(in, ++calls == 1 ? weight : x, {}); }, x));
  CHECK_THROWS_WITH(tape.backward(loss),  // another function the second time
                    Catch::StartsWith("recompute: backward: gradient (2, 16)"));
  CHECK(calls == 2);
  Tape next;
  calls = 0;
  const Tensor wrong = leaf({16, 5}, 3);
  const Tensor bad = sum(recomputed(
      [&](const Tensor& in) { return linear(in, ++calls == 1 ? weight : wrong, {}); }, x));
  CHECK_THROWS_WITH(next.backward(bad), Catch::StartsWith("recompute: linear: "));
}

TEST_CASE("recompute: many blocks peak at their inputs and the inside of one") {
  constexpr int blocks = 8;
  const Tensor x = leaf({512, 16}, 1), weight = leaf({16, 16}, 2);
  const auto peak = [&](How how) {
    Backend& memory = backend({});
    Tape tape;
    const std::size_t before = memory.memory().in_use;
    memory.reset_peak();
    Tensor y = x;
    for (int i = 0; i < blocks; ++i) y = run_block(how, y, weight, static_cast<std::uint64_t>(i));
    tape.backward(sum(y));
    return static_cast<double>(memory.memory().peak - before) / static_cast<double>(x.bytes());
  };
  // Kept: of each block two hidden tensors (before gelu, and after dropout) and its result.
  CHECK(peak(How::keep) > 3 * blocks);
  // Recomputed: each result; inside one block a few more.
  CHECK(peak(How::recompute) < blocks + 8);
}

}  // namespace skep::testing
