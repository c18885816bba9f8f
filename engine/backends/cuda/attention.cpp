#include "engine/backends/cuda/attention.h"

#include <algorithm>
#include <cmath>

#include "engine/kernels/math.h"

namespace skep::cuda {
namespace {

constexpr int lanes = 32, warps_a_block = 4;
constexpr int columns_a_lane = 4, tile = lanes * columns_a_lane;  // columns of a row in registers
constexpr unsigned everybody = 0xffffffffu;

// (B, T, H, D) with adjacent elements in D.
template <class T>
struct Heads {
  T* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;

  static Heads of(const Tensor& t) {
    return {t.data<T>(), t.strides()[0], t.strides()[1], t.strides()[2]};
  }
  HD T* row(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return data + b * batch_stride + t * row_stride + h * head_stride;
  }
};

template <class T>
struct Problem {
  using C = Compute<T>;
  Heads<T> query, key, value;
  const std::int32_t* mask = nullptr;
  std::int64_t mask_row_stride = 0, mask_column_stride = 0;
  std::int64_t batch, heads, key_heads, queries, keys, width, value_width;
  C scale;
  bool causal;

  explicit Problem(const AttentionArgs& args)
      : query(Heads<T>::of(args.query)),
        key(Heads<T>::of(args.key)),
        value(Heads<T>::of(args.value)),
        batch(args.query.size(0)),
        heads(args.query.size(2)),
        key_heads(args.key.size(2)),
        queries(args.query.size(1)),
        keys(args.key.size(1)),
        width(args.query.size(3)),
        value_width(args.value.size(3)),
        scale(static_cast<C>(args.scale)),
        causal(args.causal == AttentionArgs::Causal::yes) {
    if (!args.mask.defined()) return;
    mask = args.mask.data<std::int32_t>();
    mask_row_stride = args.mask.strides()[0];
    mask_column_stride = args.mask.strides()[1];
  }

  HD std::int64_t key_head(std::int64_t h) const { return h / (heads / key_heads); }
  HD std::int64_t group() const { return heads / key_heads; }
  // Keys from here on are invisible to query i, and queries before first_query to key s.
  HD std::int64_t visible_keys(std::int64_t i) const {
    return causal ? i + keys - queries + 1 : keys;
  }
  HD std::int64_t first_query(std::int64_t s) const {
    const std::int64_t first = s - (keys - queries);
    return causal && first > 0 ? first : 0;
  }
  HD bool visible(std::int64_t i, std::int64_t s) const {
    return s < visible_keys(i) &&
           (mask == nullptr || mask[i * mask_row_stride + s * mask_column_stride] != 0);
  }
};

template <class C, class T>
HD C dot(const T* a, const T* b, std::int64_t n) {
  C total = 0;
  for (std::int64_t j = 0; j < n; ++j) total += static_cast<C>(a[j]) * static_cast<C>(b[j]);
  return total;
}

#ifdef SKEP_GPU

template <class C>
__device__ C sum_of_warp(C x) {
  for (int step = lanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(everybody, x, step);
  return x;
}
template <class C>
__device__ C max_of_warp(C x) {
  for (int step = lanes / 2; step > 0; step /= 2) {
    const C other = __shfl_xor_sync(everybody, x, step);
    x = other > x ? other : x;
  }
  return x;
}

// Part of a row of the result, a few columns a lane: sums of weighted rows.
template <class C>
class RowSum {
 public:
  __device__ RowSum(std::int64_t first, std::int64_t width) : first_(first), width_(width) {}

  __device__ void scale(C factor) {
    for (int k = 0; k < columns_a_lane; ++k) sum_[k] *= factor;
  }
  template <class T>
  __device__ void add(C weight, const T* row) {
    for (int k = 0; k < columns_a_lane; ++k)
      if (column(k) < width_) sum_[k] += weight * static_cast<C>(row[column(k)]);
  }
  template <class T>
  __device__ void store_to(T* row, C factor) const {
    for (int k = 0; k < columns_a_lane; ++k)
      if (column(k) < width_) row[column(k)] = static_cast<T>(sum_[k] * factor);
  }

 private:
  __device__ std::int64_t column(int k) const { return first_ + k * lanes + threadIdx.x % lanes; }
  std::int64_t first_, width_;
  C sum_[columns_a_lane] = {};
};

// This warp's row of (B, H, n); false beyond the last.
struct WarpRow {
  std::int64_t b, h, i, row;
};
__device__ inline bool find_row(std::int64_t batch, std::int64_t heads, std::int64_t n,
                                WarpRow& at) {
  at.row = (blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x) / lanes;
  at.i = at.row % n;
  at.h = at.row / n % heads;
  at.b = at.row / n / heads;
  return at.row < batch * heads * n;
}

template <class T>
__global__ void forward_kernel(Problem<T> p, Heads<T> out, Compute<T>* log_sum_exp) {
  using C = Compute<T>;
  WarpRow at;
  if (!find_row(p.batch, p.heads, p.queries, at)) return;
  const int lane = static_cast<int>(threadIdx.x % lanes);
  const std::int64_t kh = p.key_head(at.h), end = p.visible_keys(at.i);
  const T* q = p.query.row(at.b, at.i, at.h);
  // Rows wider than a tile make their scores anew for each tile.
  for (std::int64_t first = 0; first < p.value_width; first += tile) {
    RowSum<C> sum(first, p.value_width);
    C highest = -INFINITY, total = 0;
    for (std::int64_t begin = 0; begin < end; begin += lanes) {
      const std::int64_t s = begin + lane;
      const C score =
          p.visible(at.i, s) ? p.scale * dot<C>(q, p.key.row(at.b, s, kh), p.width) : C(-INFINITY);
      const C best = max_of_warp(score), now = best > highest ? best : highest;
      if (now == -INFINITY) continue;
      const C past = highest == -INFINITY ? C(0) : math::exp(highest - now);
      const C weight = score == -INFINITY ? C(0) : math::exp(score - now);
      highest = now;
      total = total * past + sum_of_warp(weight);
      sum.scale(past);
      for (int j = 0; j < lanes && begin + j < end; ++j)
        sum.add(__shfl_sync(everybody, weight, j), p.value.row(at.b, begin + j, kh));
    }
    sum.store_to(out.row(at.b, at.i, at.h), total == 0 ? C(0) : C(1) / total);
    if (first == 0 && lane == 0)
      log_sum_exp[at.row] = total == 0 ? C(-INFINITY) : highest + math::log(total);
  }
}

template <class T>
struct Backward {
  using C = Compute<T>;
  Problem<T> p;
  Heads<T> out, grad_out;
  const C* log_sum_exp;
  C* delta;  // (B, H, T): sum_j O_ij dO_ij, which is sum_s P_is dP_is

  // P_is, and the gradient of the score before it was scaled.
  __device__ void weights(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t s,
                          C& probability, C& grad) const {
    probability = grad = 0;
    if (i >= p.queries || s >= p.keys || !p.visible(i, s)) return;
    const std::int64_t row = (b * p.heads + h) * p.queries + i, kh = p.key_head(h);
    const C score = p.scale * dot<C>(p.query.row(b, i, h), p.key.row(b, s, kh), p.width);
    probability = math::exp(score - log_sum_exp[row]);
    const C grad_probability = dot<C>(grad_out.row(b, i, h), p.value.row(b, s, kh), p.value_width);
    grad = probability * (grad_probability - delta[row]) * p.scale;
  }
};

template <class T>
__global__ void delta_kernel(Backward<T> work) {
  using C = Compute<T>;
  WarpRow at;
  if (!find_row(work.p.batch, work.p.heads, work.p.queries, at)) return;
  const T *y = work.out.row(at.b, at.i, at.h), *gy = work.grad_out.row(at.b, at.i, at.h);
  C total = 0;
  for (std::int64_t j = threadIdx.x % lanes; j < work.p.value_width; j += lanes)
    total += static_cast<C>(y[j]) * static_cast<C>(gy[j]);
  total = sum_of_warp(total);
  if (threadIdx.x % lanes == 0) work.delta[at.row] = total;
}

template <class T>
__global__ void grad_query_kernel(Backward<T> work, Heads<T> grad_query) {
  using C = Compute<T>;
  WarpRow at;
  if (!find_row(work.p.batch, work.p.heads, work.p.queries, at)) return;
  const int lane = static_cast<int>(threadIdx.x % lanes);
  const std::int64_t kh = work.p.key_head(at.h), end = work.p.visible_keys(at.i);
  for (std::int64_t first = 0; first < work.p.width; first += tile) {
    RowSum<C> sum(first, work.p.width);
    for (std::int64_t begin = 0; begin < end; begin += lanes) {
      C probability, grad;
      work.weights(at.b, at.h, at.i, begin + lane, probability, grad);
      for (int j = 0; j < lanes && begin + j < end; ++j)
        sum.add(__shfl_sync(everybody, grad, j), work.p.key.row(at.b, begin + j, kh));
    }
    sum.store_to(grad_query.row(at.b, at.i, at.h), C(1));
  }
}

template <class T>
__global__ void grad_key_value_kernel(Backward<T> work, Heads<T> grad_key, Heads<T> grad_value) {
  using C = Compute<T>;
  const Problem<T>& p = work.p;
  WarpRow at;  // h is the key head here, i the key
  if (!find_row(p.batch, p.key_heads, p.keys, at)) return;
  const int lane = static_cast<int>(threadIdx.x % lanes);
  const std::int64_t widest = p.width > p.value_width ? p.width : p.value_width;
  for (std::int64_t first = 0; first < widest; first += tile) {
    RowSum<C> key_sum(first, p.width), value_sum(first, p.value_width);
    for (std::int64_t h = at.h * p.group(); h < (at.h + 1) * p.group(); ++h)
      for (std::int64_t begin = p.first_query(at.i); begin < p.queries; begin += lanes) {
        C probability, grad;
        work.weights(at.b, h, begin + lane, at.i, probability, grad);
        for (int j = 0; j < lanes && begin + j < p.queries; ++j) {
          key_sum.add(__shfl_sync(everybody, grad, j), p.query.row(at.b, begin + j, h));
          value_sum.add(__shfl_sync(everybody, probability, j),
                        work.grad_out.row(at.b, begin + j, h));
        }
      }
    key_sum.store_to(grad_key.row(at.b, at.i, at.h), C(1));
    value_sum.store_to(grad_value.row(at.b, at.i, at.h), C(1));
  }
}

template <class Kernel, class... Args>
void launch_rows(Kernel kernel, std::int64_t rows, Args... args) {
  launch(kernel, (rows + warps_a_block - 1) / warps_a_block, warps_a_block * lanes, args...);
}

#endif

}  // namespace

void attention_forward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp) {
  with_float(args.query.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Problem<T> p(args);
    launch_rows(forward_kernel<T>, p.batch * p.heads * p.queries, p, Heads<T>::of(out),
                log_sum_exp.data<Compute<T>>());
  });
}

void attention_backward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp,
                        const Tensor& grad_out, const Tensor& grad_query, const Tensor& grad_key,
                        const Tensor& grad_value) {
  with_float(args.query.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using C = Compute<T>;
    const Problem<T> p(args);
    const Tensor delta = empty_like(log_sum_exp);
    const Backward<T> work{p, Heads<T>::of(out), Heads<T>::of(grad_out), log_sum_exp.data<C>(),
                           delta.data<C>()};
    const std::int64_t query_rows = p.batch * p.heads * p.queries;
    launch_rows(delta_kernel<T>, query_rows, work);
    launch_rows(grad_query_kernel<T>, query_rows, work, Heads<T>::of(grad_query));
    launch_rows(grad_key_value_kernel<T>, p.batch * p.key_heads * p.keys, work,
                Heads<T>::of(grad_key), Heads<T>::of(grad_value));
  });
}

}  // namespace skep::cuda
