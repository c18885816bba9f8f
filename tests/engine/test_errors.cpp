// What a wrong call says: the op, and the shapes, types or position that do not fit.
#include <catch2/catch.hpp>

#include "engine/ops/ops.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

// The call must fail, and the message hold every part.
template <class F>
void check_message(F call, const std::vector<std::string>& parts) {
  const std::string message = error_of(call);
  INFO("message: " << message);
  for (const std::string& part : parts) CHECK(contains(message, part));
}

TEST_CASE("shapes that do not fit: op and shapes are named") {
  const Tensor a = empty({2, 3}), b = empty({4, 5}), v = empty({4}), t = empty({2, 3, 4});
  check_message([&] { add(a, b); }, {"add", "(2, 3)", "(4, 5)"});
  check_message([&] { mul(a, v); }, {"mul", "(2, 3)", "(4)"});
  check_message([&] { matmul(a, b); }, {"matmul", "(2, 3)", "(4, 5)"});
  check_message([&] { matmul(a, v); }, {"matmul", "(2, 3)", "(4)"});
  check_message([&] { matmul(t, empty({3, 4, 2})); }, {"matmul", "(2)", "(3)"});
  check_message([&] { linear(a, b, {}); }, {"linear", "(2, 3)", "(4, 5)"});
  check_message([&] { linear(a, empty({4, 3}), empty({3})); }, {"linear", "(3)", "(4, 3)"});
  check_message([&] { layer_norm(a, v, {}, 1e-5); }, {"layer_norm", "(2, 3)", "(4)"});
  check_message([&] { layer_norm(a, empty({3}), v, 1e-5); }, {"layer_norm", "(3)", "(4)"});
  check_message([&] { reshape(a, {4}); }, {"reshape", "(2, 3)", "(4)"});
  check_message([&] { split(a, 1, 2); }, {"split", "(2, 3)"});
  check_message([&] { slice(a, 1, 2, 2); }, {"slice", "(2, 3)", "[2, 4)"});
  check_message([&] { transpose(a, 0, 2); }, {"transpose", "dimension 2"});
  check_message([&] { sum_dim(a, 2); }, {"sum_dim", "dimension 2"});
  check_message([&] { softmax(empty({})); }, {"softmax"});
  check_message([&] { cross_entropy(a, empty({3}, DType::i32)); },
                {"cross_entropy", "(2, 3)", "(3)"});
  check_message([&] { packed_attention(t, 3); }, {"packed_attention", "(2, 3, 4)"});
  check_message([&] { attention(a, a, a, {}, {}); }, {"attention", "(2, 3)"});
  const Tensor q = empty({1, 3, 4, 2}), k = empty({1, 3, 3, 2});
  check_message([&] { attention(q, k, k, {}, {}); }, {"attention", "4", "3"});
  check_message(
      [&] {
        attention(q, q, q, empty({3, 4}, DType::i32), {});
      },
      {"attention", "(3, 4)"});
  check_message([&] { embedding(v, empty({1}, DType::i32)); }, {"embedding", "(4)"});
}

TEST_CASE("types that do not fit: op and types are named") {
  const Tensor a = empty({2, 3}), b = empty({2, 3}, DType::bf16), i = zeros({2, 3}, DType::i32);
  check_message([&] { add(a, b); }, {"add", "fp32", "bf16"});
  check_message([&] { matmul(a, empty({3, 2}, DType::f64)); }, {"matmul", "fp32", "fp64"});
  check_message(
      [&] {
        linear(a, empty({4, 3}), empty({4}, DType::bf16));
      },
      {"linear", "fp32", "bf16"});
  check_message([&] { layer_norm(a, empty({3}, DType::bf16), {}, 1e-5); },
                {"layer_norm", "fp32", "bf16"});
  check_message([&] { exp(i); }, {"exp", "int32"});
  check_message([&] { softmax(i); }, {"softmax", "int32"});
  check_message([&] { matmul(i, zeros({3, 2}, DType::i32)); }, {"matmul", "int32"});
  check_message([&] { embedding(a, a); }, {"embedding", "int32", "fp32"});
}

TEST_CASE("ids and targets outside their range: value and position are named") {
  const Tensor table = random_tensor({5, 2}, DType::f32, 1);
  const auto ids = [](std::int32_t id) {
    return tensor_of(std::vector<std::int32_t>{0, 4, id, 1}, {2, 2});
  };
  check_message([&] { embedding(table, ids(5)); }, {"embedding", "id 5", "position 2", "5 rows"});
  check_message([&] { embedding(table, ids(-1)); }, {"embedding", "id -1", "position 2"});
  const Tensor logits = random_tensor({4, 3}, DType::f32, 1);
  const auto targets = [](std::int32_t target) {
    return tensor_of(std::vector<std::int32_t>{0, -1, 2, target}, {4});
  };
  check_message([&] { cross_entropy(logits, targets(3)); },
                {"cross_entropy", "target 3", "position 3", "3 classes"});
  check_message([&] { cross_entropy(logits, targets(-2)); }, {"target -2", "position 3"});
}

TEST_CASE("a tensor says what it holds") {
  check_message([] { empty({2}).item(); }, {"item", "(2)"});
  check_message([] { tensor_of(Values{1, 2}, {3}); }, {"2", "(3)"});
  check_message([] { empty({2}).data<double>(); }, {"fp32", "fp64"});
}

}  // namespace
}  // namespace skep::testing
