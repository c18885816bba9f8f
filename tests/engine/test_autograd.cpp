// The tape and its gradient slots: who is written when, what is shared, what is refused.
#include <catch2/catch.hpp>

#include "engine/autograd/gradcheck.h"
#include "engine/kernels/copy.h"
#include "engine/ops/ops.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

Tensor vector_of(const Values& values) {
  return with_grad(tensor_of(values, {static_cast<std::int64_t>(values.size())}));
}

TEST_CASE("the first contribution overwrites bound memory, later ones add") {
  const Tensor x = vector_of({1, 2, 3});
  x.slot()->value = tensor_of(Values{NAN, 1e300, -7}, {3});
  x.slot()->bound = true;
  const double* memory = x.slot()->value.data<double>();
  for (double expected : {5.0, 10.0}) {  // the second backward adds to the first
    Tape tape;
    tape.backward(sum(add(scale(x, 2), scale(x, 3))));
    CHECK(to_doubles(grad_of(x)) == Values(3, expected));
  }
  CHECK(grad_of(x).data<double>() == memory);
  x.slot()->written = false;  // as the parameter store does between steps
  Tape tape;
  tape.backward(sum(x));
  CHECK(to_doubles(grad_of(x)) == Values(3, 1));
}

TEST_CASE("on_ready of a leaf fires once, after its last use") {
  const Tensor x = vector_of({2, 3});
  int fired = 0;
  Values seen;
  x.slot()->on_ready = [&](const GradSlot& slot) {
    ++fired;
    seen = to_doubles(slot.value);
  };
  Tape tape;
  tape.backward(sum(add(mul(x, x), scale(x, 10))));
  CHECK(fired == 1);
  CHECK(seen == Values{14, 16});  // 2x + 10
}

TEST_CASE("on_ready of an inner tensor fires with its finished gradient") {
  const Tensor x = vector_of({2, 3});
  Tape tape;
  const Tensor y = scale(x, 4);
  int fired = 0;
  Values seen;
  y.slot()->on_ready = [&](const GradSlot& slot) {
    ++fired;
    seen = to_doubles(slot.value);
  };
  tape.backward(sum(add(y, scale(y, 2))));
  CHECK(fired == 1);
  CHECK(seen == Values{3, 3});
  CHECK(to_doubles(grad_of(x)) == Values{12, 12});
}

TEST_CASE("a tape dropped without backward leaves no trace in its leaves") {
  const Tensor x = vector_of({2, 3});
  int fired = 0;
  x.slot()->on_ready = [&](const GradSlot&) { ++fired; };
  {
    Tape tape, inner;
    sum(mul(x, x));
  }
  CHECK(x.slot()->pending_uses == 0);
  Tape tape;
  tape.backward(sum(x));
  CHECK(fired == 1);
}

TEST_CASE("a leaf that reaches no loss stays unwritten, and still reports") {
  const Tensor used = vector_of({1, 2}), aside = vector_of({3, 4}), unused = vector_of({5, 6});
  int reports = 0;
  aside.slot()->on_ready = [&](const GradSlot& slot) {
    ++reports;
    CHECK(!slot.written);
  };
  Tape tape;
  const Tensor loss = sum(used);
  const Tensor branch = scale(aside, 2);
  tape.backward(loss);
  CHECK(grad_of(used).defined());
  CHECK(!grad_of(aside).defined());
  CHECK(!grad_of(unused).defined());
  CHECK(reports == 1);
}

TEST_CASE("an unused output of a node gives zeros in its place") {
  const Tensor x = vector_of({1, 2, 3, 4, 5, 6});
  {
    Tape tape;
    const auto parts = split(x, 0, 3);
    tape.backward(sum(mul(parts[0], parts[2])));
  }
  CHECK(to_doubles(grad_of(x)) == Values{5, 6, 0, 0, 1, 2});
  Tape tape;  // and leaves what is there alone when it adds
  tape.backward(sum(split(x, 0, 3)[1]));
  CHECK(to_doubles(grad_of(x)) == Values{5, 6, 1, 1, 1, 2});
}

TEST_CASE("a tensor used twice in one op gets both gradients") {
  const Tensor x = with_grad(random_tensor({2, 3}, DType::f64, 1));
  SECTION("x + x") {
    Tape tape;
    tape.backward(sum(add(x, x)));
    CHECK(to_doubles(grad_of(x)) == Values(6, 2));
  }
  SECTION("x + reshaped x: one memory, two slots") {
    Tape tape;
    tape.backward(sum(add(x, reshape(reshape(x, {6}), {2, 3}))));
    CHECK(to_doubles(grad_of(x)) == Values(6, 2));
  }
  SECTION("x x") {
    Tape tape;
    tape.backward(sum(mul(x, x)));
    Values twice = to_doubles(x);
    for (double& v : twice) v *= 2;
    CHECK(to_doubles(grad_of(x)) == twice);
  }
}

TEST_CASE("gradients that share memory never spoil each other") {
  // All of a, b and c receive the very same gradient memory from the adds; a and b then receive
  // more. Each must end with its own sum: d/da = 1 + 2, d/db = 1 + 3, d/dc = 1.
  const Tensor a = vector_of({1, 2}), b = vector_of({3, 4}), c = vector_of({5, 6});
  Tape tape;
  const Tensor early = add(scale(a, 2), scale(b, 3));
  const Tensor late = add(add(a, b), c);
  tape.backward(sum(add(early, late)));
  CHECK(to_doubles(grad_of(a)) == Values{3, 3});
  CHECK(to_doubles(grad_of(b)) == Values{4, 4});
  CHECK(to_doubles(grad_of(c)) == Values{1, 1});
}

TEST_CASE("a gradient somebody keeps is not changed by later contributions") {
  const Tensor x = vector_of({1, 2}), y = vector_of({1, 2});
  for (int i = 0; i < 2; ++i) {
    Tape tape;
    tape.backward(sum(add(x, y)));
  }
  const Tensor kept = grad_of(x);
  Tape tape;
  tape.backward(sum(x));
  CHECK(to_doubles(kept) == Values{2, 2});
  CHECK(to_doubles(grad_of(x)) == Values{3, 3});
  CHECK(to_doubles(grad_of(y)) == Values{2, 2});
}

TEST_CASE("residual chains have exact gradients") {
  SECTION("closed form: y = x + x/2, n times, is (3/2)^n x") {
    const Tensor x = vector_of({1, -2, 4});
    Tape tape;
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = add(y, scale(y, 0.5));
    tape.backward(sum(y));
    CHECK(to_doubles(grad_of(x)) == Values(3, std::pow(1.5, 20)));
  }
  SECTION("finite differences, with views and branches between") {
    const auto chain = [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      Tensor x = in[0];
      for (int i = 0; i < 3; ++i) {
        x = add(x, tanh(linear(x, in[1], {})));
        x = add(x, transpose(gelu(transpose(x, 0, 1)), 0, 1));
        x = add(reshape(x, {6, 2}), reshape(mul(x, x), {6, 2}));
        x = scale(reshape(x, {3, 4}), 0.25);
      }
      return {x, add(x, x)};
    };
    const auto result = gradcheck(chain, {with_grad(random_tensor({3, 4}, DType::f64, 1)),
                                          with_grad(random_tensor({4, 4}, DType::f64, 2))});
    INFO(result.where);
    CHECK(result.worst_error < 1e-7);
  }
}

TEST_CASE("gradcheck catches a wrong gradient") {
  struct WrongSquare final : Node {  // y = x^2, dx = dy x: a factor of two is missing
    Saved x;
    Tensor y;
    void backward(std::span<const Tensor> gy, GradSink& sink) override {
      sink.give(0, mul(gy[0], x.get()));
    }
  };
  const auto wrong_square = [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    Tensor y;
    {
      const NoGrad pause;
      y = mul(in[0], in[0]);
    }
    if (NoGrad::active() || !Tape::current()) return {y};
    auto node = std::make_unique<WrongSquare>();
    node->x = in[0];
    node->inputs.push_back(in[0].slot());
    y = with_grad(y);
    node->outputs.push_back(y.slot());
    Tape::current()->record(std::move(node));
    return {y};
  };
  const auto result = gradcheck(wrong_square, {vector_of({0.5, -1.5, 2})});
  CHECK(result.worst_error > 0.1);
  CHECK(contains(result.where, "input 0 element"));
  CHECK(result.elements == 3);

  const auto right = [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    return {mul(in[0], in[0])};
  };
  CHECK(gradcheck(right, {vector_of({0.5, -1.5, 2})}).worst_error < 1e-7);
}

TEST_CASE("AG-BCAST: gradients are summed over what was broadcast") {
  const std::pair<Shape, Shape> pairs[] = {{{2, 1, 4, 64}, {2, 1, 4, 1}},
                                           {{1}, {5, 4}},
                                           {{4, 1}, {1, 4}},
                                           {{}, {3, 2}},
                                           {{1, 3, 1}, {2, 1, 2}}};
  for (const auto& [a, b] : pairs) {
    const std::vector<Tensor> inputs = {with_grad(random_tensor(a, DType::f64, 1)),
                                        with_grad(random_tensor(b, DType::f64, 2))};
    const auto chain = [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      return {mul(in[0], in[1]), add(tanh(in[0]), mul(in[1], in[0]))};
    };
    const auto result = gradcheck(chain, inputs);
    INFO(to_string(a) << " with " << to_string(b) << ": " << result.where);
    CHECK(result.worst_error < 1e-7);
    CHECK(grad_of(inputs[0]).shape() == a);
    CHECK(grad_of(inputs[1]).shape() == b);
  }
  const Tensor v = vector_of({1, 2, 3, 6});
  Tape tape;
  const Tensor average = mean_dim(v, 0);
  CHECK(average.item() == 3);
  tape.backward(average);
  CHECK(to_doubles(grad_of(v)) == Values(4, 0.25));
}

TEST_CASE("AG-INPLACE: changing a saved tensor through any view is refused in backward") {
  const auto change = GENERATE(0, 1, 2, 3);
  const Tensor x = with_grad(random_tensor({2, 3}, DType::f64, 1));
  const Tensor ones = tensor_of(Values(6, 1.0), {2, 3});
  Tape tape;
  const Tensor v = transpose(x, 0, 1);
  const Tensor loss = sum(mul(v, v));
  if (change == 0) add_into({x, Write::accumulate}, ones);
  if (change == 1) fill(x, 1.5);
  if (change == 2) copy(x.sliced(1, 2, 1), ones.sliced(1, 0, 1));
  if (change == 3) fill(x.sliced(0, 1, 1), 0);
  const std::string message = error_of([&] { tape.backward(loss); });
  INFO(message);
  CHECK(contains(message, "changed in place"));
  CHECK(contains(message, "mul"));
  CHECK(contains(message, "(3, 2)"));
}

TEST_CASE("NoGrad records nothing, and ends where it began") {
  const Tensor x = vector_of({1, 2});
  Tape tape;
  {
    const NoGrad pause;
    const NoGrad twice;
    CHECK(!mul(x, x).wants_grad());
  }
  {
    const NoGrad pause;
    { const NoGrad inner; }
    CHECK(NoGrad::active());
    CHECK(!scale(x, 2).wants_grad());
  }
  CHECK(tape.nodes().empty());
  CHECK(mul(x, x).wants_grad());
  CHECK(tape.nodes().size() == 1);
  CHECK(tape.nodes()[0]->name() == "mul");
}

TEST_CASE("without a tape, or without a wish for gradients, nothing is recorded") {
  const Tensor x = vector_of({1, 2}), plain = tensor_of(Values{3, 4}, {2});
  CHECK(!mul(x, x).wants_grad());
  Tape tape;
  CHECK(!mul(plain, plain).wants_grad());
  CHECK(tape.nodes().empty());
}

TEST_CASE("nested tapes record on the innermost and give way to the outer again") {
  const Tensor x = vector_of({1, 2});
  Tape outer;
  const Tensor before = scale(x, 2);
  {
    Tape inner;
    CHECK(Tape::current() == &inner);
    inner.backward(sum(mul(x, x)));
    CHECK(outer.nodes().size() == 1);
  }
  CHECK(Tape::current() == &outer);
  CHECK(to_doubles(grad_of(x)) == Values{2, 4});
  outer.backward(sum(before));
  CHECK(to_doubles(grad_of(x)) == Values{4, 6});
}

TEST_CASE("an inner tape leaves its gradient in a tensor of the outer one, which passes it on") {
  const Tensor x = vector_of({1, 2});
  Tape outer;
  const Tensor h = scale(x, 3);
  {
    Tape inner;
    inner.backward(sum(mul(h, h)));
  }
  outer.backward(sum(h));
  CHECK(to_doubles(grad_of(x)) == Values{21, 39});  // 3 (2h + 1), h = 3x
}

TEST_CASE("backward refuses a loss it cannot start from") {
  const Tensor x = vector_of({1, 2});
  Tape tape;
  const Tensor y = scale(x, 2), loss = sum(y);
  CHECK(contains(error_of([&] { tape.backward(y); }), "(2)"));
  CHECK(contains(error_of([&] { tape.backward(tensor_of(Values{1}, {})); }), "not recorded"));
  {
    Tape other;
    sum(x);
    CHECK(contains(error_of([&] { other.backward(loss); }), "not recorded"));
  }
  tape.backward(loss, 3);
  CHECK(to_doubles(grad_of(x)) == Values{6, 6});
  // The tape is consumed: a second backward would silently do nothing.
  CHECK(contains(error_of([&] { tape.backward(loss); }), "not recorded"));
}

TEST_CASE("a tape prints itself") {
  const Tensor x = with_grad(random_tensor({2, 3}, DType::f64, 1));
  Tape tape;
  sum(scale(x, 2));
  const std::string text = tape.to_string();
  CHECK(contains(text, "scale"));
  CHECK(contains(text, "(2, 3) -> (2, 3)"));
  CHECK(contains(text, "(2, 3) -> ()"));
}

}  // namespace
}  // namespace skep::testing
