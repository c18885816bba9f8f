#include "engine/backends/cpu/attention.h"

#include <algorithm>
#include <limits>

#include "engine/backends/cpu/gemm.h"
#include "engine/core/background.h"
#include "engine/kernels/copy.h"
#include "engine/kernels/rows.h"

namespace skep::cpu {
namespace {

constexpr std::int64_t panel_rows = 64;

struct Sizes {
  std::int64_t batch, queries, keys, heads, key_heads, width, value_width;

  explicit Sizes(const AttentionArgs& a)
      : batch(a.query.size(0)),
        queries(a.query.size(1)),
        keys(a.key.size(1)),
        heads(a.query.size(2)),
        key_heads(a.key.size(2)),
        width(a.query.size(3)),
        value_width(a.value.size(3)) {}
};

// Rows [begin, begin + rows) of one head of a (B, T, H, D) tensor.
Matrix head_rows(const Tensor& t, std::int64_t b, std::int64_t h, std::int64_t begin,
                 std::int64_t rows) {
  const auto& step = t.strides();
  const std::int64_t offset = b * step[0] + begin * step[1] + h * step[2];
  auto* data =
      static_cast<std::byte*>(t.raw()) + offset * static_cast<std::int64_t>(size_of(t.dtype()));
  return {data, t.dtype(), rows, t.size(3), step[1], step[3]};
}

Matrix panel(const Tensor& t, std::int64_t rows, std::int64_t columns) {
  return {t.raw(), t.dtype(), rows, columns, t.size(1), 1};
}

// Which keys a query may see: the first `causal` ones, less what the mask forbids.
struct Visible {
  const AttentionArgs& args;
  const Sizes& size;

  std::int64_t count(std::int64_t query) const {
    if (args.causal == AttentionArgs::Causal::no) return size.keys;
    return std::clamp<std::int64_t>(query + 1 + size.keys - size.queries, 0, size.keys);
  }
  // Writes -inf where the query may not look; n columns are in use.
  template <class C>
  void hide(C* scores, std::int64_t query, std::int64_t n) const {
    constexpr C minus_infinity = -std::numeric_limits<C>::infinity();
    for (std::int64_t j = count(query); j < n; ++j) scores[j] = minus_infinity;
    if (!args.mask.defined()) return;
    const auto* mask = args.mask.data<std::int32_t>() + query * args.mask.strides()[0];
    for (std::int64_t j = 0; j < n; ++j)
      if (mask[j * args.mask.strides()[1]] == 0) scores[j] = minus_infinity;
  }
};

// scores -> probabilities of type T; returns the row's log-sum-exp. `scores` is overwritten. Where
// nothing is visible the sum is 0 and so is every probability; a NaN score makes them all NaN.
template <class T, class C>
C softmax_row(T* probability, C* scores, std::int64_t n, C scale) {
  const CpuTeam team;
  constexpr C minus_infinity = -std::numeric_limits<C>::infinity();
  const C top = team.max<C>(n, minus_infinity, [&](std::int64_t j) { return scores[j]; }) * scale;
  const C shift = top == minus_infinity ? C(0) : top;
  const C total = team.sum<C>(
      n, [&](std::int64_t j) { return scores[j] = math::exp(scores[j] * scale - shift); });
  const C factor = total == C(0) ? C(0) : C(1) / total;
  team.each(n, [&](std::int64_t j) { probability[j] = static_cast<T>(scores[j] * factor); });
  return shift + math::log(total);
}

// scores, d(probabilities) -> probabilities and d(scores), both of type T.
template <class T, class C>
void softmax_row_backward(T* probability, T* grad_scores, C* scores, const C* grad_probability,
                          std::int64_t n, C scale, C log_sum_exp, C delta) {
  const CpuTeam team;
  if (log_sum_exp == -std::numeric_limits<C>::infinity()) {
    team.each(n, [&](std::int64_t j) { probability[j] = grad_scores[j] = static_cast<T>(C(0)); });
    return;
  }
  team.each(n, [&](std::int64_t j) {
    const C p = math::exp(scores[j] * scale - log_sum_exp);
    probability[j] = static_cast<T>(p);
    grad_scores[j] = static_cast<T>(p * (grad_probability[j] - delta) * scale);
  });
}

template <class T>
class Attention {
  using C = Compute<T>;
  static constexpr bool narrow = !std::is_same_v<T, C>;

 public:
  explicit Attention(const AttentionArgs& args)
      : args_(args),
        size_(args),
        visible_{args_, size_},
        scores_(empty({panel_rows, size_.keys}, DTypeOf<C>::value)),
        probability_(narrow ? empty({panel_rows, size_.keys}, DTypeOf<T>::value) : scores_) {}

  void forward(const Tensor& out, const Tensor& log_sum_exp) {
    for (std::int64_t b = 0; b < size_.batch; ++b)
      for (std::int64_t h = 0; h < size_.heads; ++h) {
        Background::poll();
        C* lse = log_sum_exp.data<C>() + (b * size_.heads + h) * size_.queries;
        for (std::int64_t i = 0; i < size_.queries; i += panel_rows)
          forward_panel(b, h, i, out, lse + i);
      }
  }

  void backward(const Tensor& out, const Tensor& log_sum_exp, const Tensor& grad_out,
                const Tensor& grad_query, const Tensor& grad_key, const Tensor& grad_value) {
    grad_probability_ = empty({panel_rows, size_.keys}, DTypeOf<C>::value);
    grad_scores_ = empty({panel_rows, size_.keys}, DTypeOf<T>::value);
    // Sums over queries are kept in the compute type and rounded once.
    const Tensor key_sum = narrow ? empty(grad_key.shape(), DTypeOf<C>::value) : grad_key;
    const Tensor value_sum = narrow ? empty(grad_value.shape(), DTypeOf<C>::value) : grad_value;
    const std::int64_t group = size_.heads / size_.key_heads;
    const std::int64_t last = (size_.queries - 1) / panel_rows * panel_rows;
    for (std::int64_t b = 0; b < size_.batch; ++b)
      for (std::int64_t h = 0; h < size_.heads; ++h) {
        Background::poll();
        const C* lse = log_sum_exp.data<C>() + (b * size_.heads + h) * size_.queries;
        // The last panel sees every key, so that its products may overwrite the sums.
        for (std::int64_t i = last; i >= 0; i -= panel_rows) {
          const Write write = i == last && h % group == 0 ? Write::overwrite : Write::accumulate;
          backward_panel(b, h, i, out, lse + i, grad_out, grad_query, key_sum, value_sum, write);
        }
      }
    if (narrow) {
      copy(grad_key, key_sum);
      copy(grad_value, value_sum);
    }
  }

 private:
  std::int64_t rows_at(std::int64_t i) const { return std::min(panel_rows, size_.queries - i); }
  std::int64_t key_head(std::int64_t h) const { return h / (size_.heads / size_.key_heads); }
  C* row(const Tensor& t, std::int64_t r) const { return t.data<C>() + r * size_.keys; }
  T* narrow_row(const Tensor& t, std::int64_t r) const { return t.data<T>() + r * size_.keys; }

  // scores (rows, n) = Q K^T with the invisible at -inf.
  std::int64_t fill_scores(std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::int64_t rows = rows_at(i),
                       n = std::max<std::int64_t>(visible_.count(i + rows - 1), 1);
    const Matrix keys = head_rows(args_.key, b, key_head(h), 0, n);
    gemm(head_rows(args_.query, b, h, i, rows), keys.transposed(), panel(scores_, rows, n), {});
    for (std::int64_t r = 0; r < rows; ++r) visible_.hide(row(scores_, r), i + r, n);
    return n;
  }

  void forward_panel(std::int64_t b, std::int64_t h, std::int64_t i, const Tensor& out, C* lse) {
    const std::int64_t rows = rows_at(i), n = fill_scores(b, h, i);
    for (std::int64_t r = 0; r < rows; ++r)
      lse[r] =
          softmax_row(narrow_row(probability_, r), row(scores_, r), n, static_cast<C>(args_.scale));
    gemm(panel(probability_, rows, n), head_rows(args_.value, b, key_head(h), 0, n),
         head_rows(out, b, h, i, rows), {});
  }

  void backward_panel(std::int64_t b, std::int64_t h, std::int64_t i, const Tensor& out,
                      const C* lse, const Tensor& grad_out, const Tensor& grad_query,
                      const Tensor& key_sum, const Tensor& value_sum, Write write) {
    const std::int64_t rows = rows_at(i), n = fill_scores(b, h, i), kh = key_head(h);
    const Matrix keys = head_rows(args_.key, b, kh, 0, n),
                 values = head_rows(args_.value, b, kh, 0, n);
    const Matrix queries = head_rows(args_.query, b, h, i, rows);
    const Matrix results = head_rows(out, b, h, i, rows),
                 grads = head_rows(grad_out, b, h, i, rows);
    gemm(grads, values.transposed(), panel(grad_probability_, rows, n), {});
    for (std::int64_t r = 0; r < rows; ++r)
      softmax_row_backward(narrow_row(probability_, r), narrow_row(grad_scores_, r),
                           row(scores_, r), row(grad_probability_, r), n,
                           static_cast<C>(args_.scale), lse[r], dot(results, grads, r));
    gemm(panel(grad_scores_, rows, n), keys, head_rows(grad_query, b, h, i, rows), {});
    gemm(panel(grad_scores_, rows, n).transposed(), queries, head_rows(key_sum, b, kh, 0, n),
         {.write = write});
    gemm(panel(probability_, rows, n).transposed(), grads, head_rows(value_sum, b, kh, 0, n),
         {.write = write});
  }

  // sum_j O_rj dO_rj, which equals sum_j P_rj dP_rj.
  C dot(const Matrix& x, const Matrix& y, std::int64_t r) const {
    const T* a = static_cast<const T*>(x.data) + r * x.row_stride;
    const T* b = static_cast<const T*>(y.data) + r * y.row_stride;
    return CpuTeam{}.sum<C>(x.columns, [&](std::int64_t j) {
      return static_cast<C>(a[j * x.column_stride]) * static_cast<C>(b[j * y.column_stride]);
    });
  }

  const AttentionArgs& args_;
  Sizes size_;
  Visible visible_;
  Tensor scores_, probability_, grad_probability_, grad_scores_;
};

}  // namespace

void attention_forward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp) {
  with_float(args.query.dtype(),
             [&](auto zero) { Attention<decltype(zero)>(args).forward(out, log_sum_exp); });
}

void attention_backward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp,
                        const Tensor& grad_out, const Tensor& grad_query, const Tensor& grad_key,
                        const Tensor& grad_value) {
  with_float(args.query.dtype(), [&](auto zero) {
    Attention<decltype(zero)>(args).backward(out, log_sum_exp, grad_out, grad_query, grad_key,
                                             grad_value);
  });
}

}  // namespace skep::cpu
