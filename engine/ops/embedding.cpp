// y[..] = table[ids[..]]. The gradient adds each row of dy to the row its id named, in the order
// of the ids: repeated ids sum, and the result repeats bit for bit.
#include <cstring>

#include "engine/kernels/copy.h"
#include "engine/kernels/rows.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

Shape embedding_shape(const Shape& table, const Shape& ids) {
  check(table.rank() == 2, "embedding: the table is (V, C), not {}", table);
  Shape y = ids;
  y.push_back(table[1]);
  return y;
}

// What is on a GPU was looked at on the host, before it went there.
void check_ids(const Tensor& ids, std::int64_t count) {
  if (ids.device().kind != Device::Kind::cpu) return;
  const auto* id = ids.data<std::int32_t>();
  for (std::int64_t i = 0; i < ids.numel(); ++i)
    check(id[i] >= 0 && id[i] < count,
          "embedding: id {} at position {} is outside the table of {} rows", id[i], i, count);
}

template <class T>
struct GatherRow {
  T* out;
  const T* table;
  const std::int32_t* ids;
  std::int64_t columns, row_stride;
  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    const T* from = table + ids[row] * row_stride;
    T* to = out + row * columns;
    team.each(columns, [&](std::int64_t i) { to[i] = from[i]; });
  }
};

// One column of the table's gradient at a time on a GPU; strips of them on the CPU.
template <class T>
struct ScatterRows {
  T* out;
  const T* grad;
  const std::int32_t* ids;
  std::int64_t rows, columns;
  template <class Team>
  HD void operator()(const Team& team, std::int64_t) const {
    for (std::int64_t r = 0; r < rows; ++r) {
      T* to = out + ids[r] * columns;
      const T* from = grad + r * columns;
      team.each(columns, [&](std::int64_t i) {
        detail::store(to[i], static_cast<Compute<T>>(from[i]), Write::accumulate);
      });
    }
  }
};

struct Embedding final : Node {
  Saved ids;

  Tensor forward(const Tensor& table, const Tensor& ids_in) {
    const Tensor list = contiguous(ids_in);
    ids = list;
    Tensor y = empty(embedding_shape(table.shape(), list.shape()), table.dtype(), table.device());
    check_ids(list, table.size(0));
    with_float(table.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const Tensor rows = table.strides()[1] == 1 ? table : contiguous(table);
      for_each_row(y.device(), list.numel(),
                   GatherRow<T>{y.data<T>(), rows.data<T>(), list.data<std::int32_t>(),
                                table.size(1), rows.strides()[0]});
    });
    return y;
  }
  void backward(std::span<const Tensor> grads, GradSink& sink) override {
    if (!sink.wants(0)) return;
    const Tensor gy = contiguous(grads[0]);
    const Destination out = sink.slot(0);
    if (out.write == Write::overwrite) fill(out.tensor, 0);
    with_float(gy.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_each_row(gy.device(), 1,
                   ScatterRows<T>{out.tensor.data<T>(), gy.data<T>(),
                                  ids.get().data<std::int32_t>(), ids.get().numel(), gy.size(-1)});
    });
  }
};

const OpEntry entry("embedding", "y = table[ids]", &embedding, embedding_shape,
                    {normal({5, 3}), ids({4}, 5)}, {{normal({3, 2}), ids({2, 6}, 3)}});

}  // namespace

Tensor embedding(const Tensor& table, const Tensor& ids) {
  return apply(entry, Embedding{}, table, ids);
}

}  // namespace skep
