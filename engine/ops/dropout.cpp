// y_i = x_i m_i / (1 - p), m_i = 0 with probability p (Srivastava et al. 2014). The mask is drawn
// again in backward from the same counters instead of being kept.
#include "engine/core/random.h"
#include "engine/kernels/copy.h"
#include "engine/kernels/rows.h"
#include "engine/ops/apply.h"
#include "engine/ops/ops.h"

namespace skep {
namespace {

template <class T>
struct DropoutRow {
  T* out;
  const T* in;
  std::int64_t columns;
  std::uint64_t key, first_index;
  double probability;
  Write write;

  template <class Team>
  HD void operator()(const Team& team, std::int64_t row) const {
    const auto threshold = static_cast<std::uint32_t>(probability * 4294967296.0);
    const auto factor = static_cast<Compute<T>>(1.0 / (1.0 - probability));
    team.each(columns, [&](std::int64_t i) {
      const std::int64_t at = row * columns + i;
      const std::uint64_t index = first_index + static_cast<std::uint64_t>(at);
      // Each call gives four words: four neighbours share one.
      const bool drop = philox(key, index / 4).word[index % 4] < threshold;
      detail::store(out[at], drop ? Compute<T>(0) : static_cast<Compute<T>>(in[at]) * factor,
                    write);
    });
  }
};

struct Dropout final : Node {
  double probability;
  std::uint64_t key, first_index;
  Dropout(double p, std::uint64_t k, std::uint64_t first)
      : probability(p), key(k), first_index(first) {}

  Tensor forward(const Tensor& x) {
    Tensor y = empty_like(x);
    mask({y}, contiguous(x));
    return y;
  }
  void backward(std::span<const Tensor> gy, GradSink& sink) override {
    mask(sink.slot(0), contiguous(gy[0]));
  }

  void mask(const Destination& out, const Tensor& in) const {
    const std::int64_t columns = in.rank() ? in.size(-1) : 1,
                       rows = columns ? in.numel() / columns : 0;
    with_float(in.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_each_row(in.device(), rows,
                   DropoutRow<T>{out.tensor.data<T>(), in.data<T>(), columns, key, first_index,
                                 probability, out.write});
    });
  }
};

const OpEntry entry("dropout", "y = x mask / (1 - p), mask ~ Bernoulli(1 - p)", &dropout,
                    [](const Shape& x, double, std::uint64_t, std::uint64_t) { return x; },
                    {normal({4, 6}), 0.4, std::uint64_t{7}, std::uint64_t{3}});

}  // namespace

Tensor dropout(const Tensor& x, double probability, std::uint64_t key, std::uint64_t first_index) {
  check(probability >= 0 && probability < 1, "dropout: probability {} is not in [0, 1)",
        probability);
  return probability == 0 ? x : apply(entry, Dropout{probability, key, first_index}, x);
}

}  // namespace skep
