// Attention against plain loops in double, forward and backward, across panel borders, grouped
// heads, cached keys and masks.
#include <catch2/catch.hpp>

#include "engine/autograd/gradcheck.h"
#include "engine/ops/ops.h"
#include "tests/engine/helpers.h"

namespace skep::testing {
namespace {

using Causal = AttentionOptions::Causal;

// Sizes of one attention, and its operands in row-major order.
struct Problem {
  std::int64_t batch, queries, keys, heads, key_heads, width, value_width;
  Causal causal = Causal::yes;
  Values q, k, v, gy;
  std::vector<std::int32_t> mask;  // empty: none
};

struct Result {
  Values y, gq, gk, gv;
};

// The definition, one row of scores at a time.
Result plain_loops(const Problem& p) {
  Result r;
  r.y.assign(p.batch * p.queries * p.heads * p.value_width, 0);
  r.gq.assign(p.q.size(), 0), r.gk.assign(p.k.size(), 0), r.gv.assign(p.v.size(), 0);
  const double scale = 1 / std::sqrt(static_cast<double>(p.width));
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t h = 0; h < p.heads; ++h)
      for (std::int64_t i = 0; i < p.queries; ++i) {
        const std::int64_t kh = h / (p.heads / p.key_heads);
        const std::int64_t qi = ((b * p.queries + i) * p.heads + h) * p.width;
        const std::int64_t yi = ((b * p.queries + i) * p.heads + h) * p.value_width;
        auto kj = [&](std::int64_t j) { return ((b * p.keys + j) * p.key_heads + kh) * p.width; };
        auto vj = [&](std::int64_t j) {
          return ((b * p.keys + j) * p.key_heads + kh) * p.value_width;
        };
        Values prob(p.keys, 0), dprob(p.keys, 0);
        double total = 0, dot = 0;
        for (std::int64_t j = 0; j < p.keys; ++j) {
          if (p.causal == Causal::yes && j > i + p.keys - p.queries) continue;
          if (!p.mask.empty() && p.mask[i * p.keys + j] == 0) continue;
          double score = 0;
          for (std::int64_t d = 0; d < p.width; ++d) score += p.q[qi + d] * p.k[kj(j) + d];
          total += prob[j] = std::exp(score * scale);
        }
        if (total == 0) continue;
        for (std::int64_t j = 0; j < p.keys; ++j) {
          prob[j] /= total;
          for (std::int64_t d = 0; d < p.value_width; ++d) {
            r.y[yi + d] += prob[j] * p.v[vj(j) + d];
            r.gv[vj(j) + d] += prob[j] * p.gy[yi + d];
            dprob[j] += p.gy[yi + d] * p.v[vj(j) + d];
          }
          dot += prob[j] * dprob[j];
        }
        for (std::int64_t j = 0; j < p.keys; ++j)
          for (std::int64_t d = 0; d < p.width; ++d) {
            const double ds = prob[j] * (dprob[j] - dot) * scale;
            r.gq[qi + d] += ds * p.k[kj(j) + d];
            r.gk[kj(j) + d] += ds * p.q[qi + d];
          }
      }
  return r;
}

Problem make_problem(std::int64_t batch, std::int64_t queries, std::int64_t keys,
                     std::int64_t heads, std::int64_t key_heads, std::int64_t width,
                     std::int64_t value_width) {
  Problem p{batch, queries, keys, heads, key_heads, width, value_width, {}, {}, {}, {}, {}, {}};
  p.causal = Causal::yes;
  p.q = to_doubles(random_tensor({batch, queries, heads, width}, DType::f64, 1));
  p.k = to_doubles(random_tensor({batch, keys, key_heads, width}, DType::f64, 2));
  p.v = to_doubles(random_tensor({batch, keys, key_heads, value_width}, DType::f64, 3));
  p.gy = to_doubles(random_tensor({batch, queries, heads, value_width}, DType::f64, 4));
  return p;
}

// What the op makes of the problem, in one type.
Result run_op(const Problem& p, DType dtype) {
  const auto leaf = [&](const Values& values, const Shape& shape) {
    return with_grad(converted(tensor_of(values, shape), dtype));
  };
  const Tensor q = leaf(p.q, {p.batch, p.queries, p.heads, p.width});
  const Tensor k = leaf(p.k, {p.batch, p.keys, p.key_heads, p.width});
  const Tensor v = leaf(p.v, {p.batch, p.keys, p.key_heads, p.value_width});
  const Tensor mask = p.mask.empty() ? Tensor{} : tensor_of(p.mask, {p.queries, p.keys});
  Tape tape;
  const Tensor y = attention(q, k, v, mask, {.causal = p.causal});
  Result r;
  r.y = to_doubles(y);
  backward_from(tape, {y}, {converted(tensor_of(p.gy, y.shape()), dtype)});
  r.gq = to_doubles(grad_of(q)), r.gk = to_doubles(grad_of(k)), r.gv = to_doubles(grad_of(v));
  return r;
}

void check_against_loops(const Problem& p) {
  const Result want = plain_loops(p);
  const std::pair<DType, double> limits[] = {
      {DType::f64, 1e-12}, {DType::f32, 1e-5}, {DType::f16, 4e-3}, {DType::bf16, 3e-2}};
  for (const auto& [dtype, limit] : limits) {
    INFO(name_of(dtype) << ", T " << p.queries << ", S " << p.keys << ", heads " << p.heads << ":"
                        << p.key_heads << ", width " << p.width << ", value " << p.value_width);
    const Result got = run_op(p, dtype);
    CHECK(relative_error(got.y, want.y) < limit);
    // With one visible key a row's score gradients are exactly zero: bound the rounding noise.
    const double slack = p.keys == 1 ? limit * std::sqrt(static_cast<double>(p.q.size())) : limit;
    CHECK(relative_error(got.gq, want.gq) < slack);
    CHECK(relative_error(got.gk, want.gk) < slack);
    CHECK(relative_error(got.gv, want.gv) < limit);
  }
}

TEST_CASE("causal attention agrees with plain loops across panel borders") {
  for (std::int64_t tokens : {1, 7, 64, 65, 100, 130})
    for (std::int64_t width : {24, 5})
      check_against_loops(make_problem(2, tokens, tokens, 2, 2, width, width));
}

TEST_CASE("query heads share key heads; values have their own width") {
  check_against_loops(make_problem(2, 67, 67, 4, 2, 8, 3));
  check_against_loops(make_problem(1, 9, 9, 6, 1, 5, 7));
}

TEST_CASE("cached keys: the last query sees all, the first all but T - 1") {
  check_against_loops(make_problem(2, 1, 37, 4, 2, 8, 8));
  check_against_loops(make_problem(1, 5, 130, 2, 2, 8, 8));
  check_against_loops(make_problem(1, 70, 75, 2, 1, 5, 5));
}

TEST_CASE("masks, with and without causality, and rows that see nothing") {
  for (Causal causal : {Causal::yes, Causal::no}) {
    Problem p = make_problem(2, 66, 71, 2, 1, 6, 6);
    p.causal = causal;
    for (std::int64_t i = 0; i < p.queries * p.keys; ++i)
      p.mask.push_back(random_below(9, i, 3) > 0);
    for (std::int64_t j = 0; j < p.keys; ++j) p.mask[3 * p.keys + j] = 0;
    check_against_loops(p);
  }
}

TEST_CASE("without causality every query sees every key") {
  Problem p = make_problem(1, 66, 66, 2, 2, 6, 6);
  p.causal = Causal::no;
  check_against_loops(p);
}

TEST_CASE("ATT-MASKED: a row that sees nothing gives 0 and disturbs nobody") {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    Problem p = make_problem(1, 4, 4, 1, 1, 3, 3);
    p.causal = Causal::no;
    p.mask.assign(16, 1);
    const Result open = run_op(p, dtype);
    for (int j = 0; j < 4; ++j) p.mask[4 + j] = 0;
    const Result masked = run_op(p, dtype);
    INFO(name_of(dtype));
    for (int i = 0; i < 4; ++i)
      for (int d = 0; d < 3; ++d) CHECK(masked.y[3 * i + d] == (i == 1 ? 0 : open.y[3 * i + d]));
    for (const Values& grad : {masked.gq, masked.gk, masked.gv})
      for (double g : grad) CHECK(std::isfinite(g));
    for (int d = 0; d < 3; ++d) CHECK(masked.gq[3 + d] == 0);
  }
}

TEST_CASE("ATT-FP16: large equal scores give the mean of the values") {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    Problem p = make_problem(1, 9, 9, 1, 1, 128, 128);
    p.causal = Causal::no;
    p.q.assign(p.q.size(), 64), p.k.assign(p.k.size(), 64);
    const Result got = run_op(p, dtype);
    INFO(name_of(dtype));
    for (std::int64_t d = 0; d < 128; ++d) {
      double mean = 0;
      for (std::int64_t j = 0; j < 9; ++j) mean += p.v[j * 128 + d] / 9;
      for (std::int64_t i = 0; i < 9; ++i) CHECK(std::abs(got.y[i * 128 + d] - mean) <= 1e-2);
    }
    for (double g : got.gq) CHECK(std::isfinite(g));
  }
}

TEST_CASE("a NaN query is seen in its own row, forward and backward") {
  for (DType dtype : {DType::f32, DType::bf16}) {
    Problem p = make_problem(1, 4, 4, 1, 1, 3, 3);
    for (int d = 0; d < 3; ++d) p.q[6 + d] = NAN;
    const Result got = run_op(p, dtype);
    INFO(name_of(dtype));
    for (int i = 0; i < 12; ++i) CHECK(std::isnan(got.y[i]) == (i / 3 == 2));
    CHECK(std::isnan(got.gk[0]));
  }
}

TEST_CASE("packed attention equals attention on its parts") {
  const std::pair<DType, double> limits[] = {
      {DType::f64, 1e-13}, {DType::f32, 2e-6}, {DType::bf16, 1e-2}};
  for (const auto& [dtype, limit] : limits)
    for (std::int64_t tokens : {1, 7, 65, 130}) {
      const auto packed = [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        return {packed_attention(in[0], 3)};
      };
      const auto parts = [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        const auto p = split(in[0], 2, 3);
        const Shape heads{in[0].size(0), in[0].size(1), 3, 5};
        const Tensor y =
            attention(reshape(p[0], heads), reshape(p[1], heads), reshape(p[2], heads), {}, {});
        return {reshape(y, p[0].shape())};
      };
      const Tensor qkv = random_tensor({2, tokens, 45}, dtype, 1);
      INFO(name_of(dtype) << ", T " << tokens);
      CHECK(relative_error(run(packed, {with_grad(qkv)}), run(parts, {with_grad(qkv)})) < limit);
    }
}

TEST_CASE("no queries: the keys' gradients are zero") {
  const Tensor q = with_grad(empty({2, 0, 1, 3}, DType::f64));
  const Tensor k = with_grad(random_tensor({2, 4, 1, 3}, DType::f64, 1));
  const Tensor v = with_grad(random_tensor({2, 4, 1, 3}, DType::f64, 2));
  Tape tape;
  tape.backward(sum(attention(q, k, v, {}, {})));
  CHECK(to_doubles(grad_of(k)) == Values(24, 0));
  CHECK(to_doubles(grad_of(v)) == Values(24, 0));
}

}  // namespace
}  // namespace skep::testing
