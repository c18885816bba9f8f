#include "engine/kernels/reduce.h"

#include "engine/kernels/copy.h"
#include "engine/kernels/rows.h"

namespace skep {
namespace {

template <class T>
struct MatrixElement {
  const T* data;
  std::int64_t columns;
  HD Compute<T> operator()(std::int64_t r, std::int64_t c) const {
    return static_cast<Compute<T>>(data[r * columns + c]);
  }
};

template <class T>
struct RowSum {
  T* out;
  const T* data;
  std::int64_t columns;
  Write write;
  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    const T* x = data + row * columns;
    const Compute<T> total = team.template sum<Compute<T>>(
        columns, [&](std::int64_t i) { return static_cast<Compute<T>>(x[i]); });
    team.once([&] { detail::store(out[row], total, write); });
  }
};

// Sums dimension `dim` of a contiguous tensor away, keeping it as size 1.
Tensor sum_dimension(const Tensor& from, int dim) {
  Shape shape = from.shape();
  shape[dim] = 1;
  Tensor out = empty(shape, from.dtype(), from.device());
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < dim; ++i) outer *= from.size(i);
  for (int i = dim + 1; i < from.rank(); ++i) inner *= from.size(i);
  const std::int64_t n = from.size(dim);
  with_float(from.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (inner == 1) {
      for_each_row(from.device(), outer,
                   RowSum<T>{out.data<T>(), from.data<T>(), n, Write::overwrite});
      return;
    }
    for (std::int64_t o = 0; o < outer; ++o)
      sum_rows(from.device(), out.data<T>() + o * inner, n, inner, Write::overwrite,
               MatrixElement<T>{from.data<T>() + o * n * inner, inner});
  });
  return out;
}

}  // namespace

void sum_to(const Destination& out, const Tensor& from) {
  const Shape& target = out.tensor.shape();
  check(broadcast_shape(target, from.shape()) == from.shape(),
        "sum_to: {} does not broadcast to {}", target, from.shape());
  Tensor t = contiguous(from);
  const int extra = t.rank() - target.rank();
  // Leading dimensions that go away together are summed in one pass over rows.
  std::int64_t rows = 1;
  int lead = 0;
  for (; lead < t.rank() && (lead < extra || (target[lead - extra] == 1 && t.size(lead) != 1));
       ++lead)
    rows *= t.size(lead);
  Shape rest{rows};
  for (int i = lead; i < t.rank(); ++i) rest.push_back(t.size(i));
  t = t.reshaped(rest);
  if (rows != 1) t = sum_dimension(t, 0);
  for (int i = lead; i < from.rank(); ++i) {
    const int mine = i - extra, now = i - lead + 1;
    if (target[mine] == 1 && t.size(now) != 1) t = sum_dimension(t, now);
  }
  add_into(out, t.reshaped(target));
}

}  // namespace skep
