// Exact sums: each micro-batch's gradient is rounded once to a fixed-point number (a multiple of
// 1/scale in int64), and from then on only integers are added. Integer addition is associative, so
// the result is the same bits for every topology and for every number of ranks that cuts the global
// batch into the same micro-batches. Costs 8 bytes a parameter in memory and on the wire, and a
// pass over the gradients a micro-batch. What is not finite or does not fit is counted, never
// converted.
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/core/error.h"
#include "train/sync/reduction.h"

namespace skep {
namespace {

class ExactFlight final : public Flight {
 public:
  ExactFlight(Communicator& comm, Pending pending, std::span<const std::int64_t> sums,
              std::span<float> grads, double unit)
      : comm_(comm), pending_(std::move(pending)), sums_(sums), grads_(grads), unit_(unit) {}
  void advance() override { comm_.progress(); }
  void wait() override {
    pending_.wait();
    for (std::size_t i = 0; i < sums_.size(); ++i)
      grads_[i] = static_cast<float>(static_cast<double>(sums_[i]) * unit_);
  }

 private:
  Communicator& comm_;
  Pending pending_;
  std::span<const std::int64_t> sums_;
  std::span<float> grads_;
  double unit_;
};

class ExactReduction final : public Reduction {
 public:
  explicit ExactReduction(double scale) : scale_(scale) {}
  std::string name() const override { return "exact"; }

  void before_backward(ParameterStore& store, MicroBatch micro) override {
    store.clear_gradients();  // each micro-batch is converted by itself
    if (!micro.first()) return;
    sums_.assign(static_cast<std::size_t>(store.size()), 0);
    health_ = {};
  }

  void gathered(ParameterStore& store, std::int64_t begin, std::int64_t end) override {
    const std::span<const float> grads = store.grads(begin, end);
    std::int64_t outside = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const double scaled =
          static_cast<double>(grads[static_cast<std::size_t>(i - begin)]) * scale_;
      const bool fits = std::abs(scaled) < limit;  // false for NaN
      outside += fits ? 0 : 1;
      sums_[static_cast<std::size_t>(i)] += std::llrint(fits ? scaled : 0.0);
    }
    if (outside > 0) count_outside(grads);
  }

  std::unique_ptr<Flight> start(ParameterStore& store, std::int64_t begin, std::int64_t end,
                                const SyncRound& round) override {
    const auto first = static_cast<std::size_t>(begin), n = static_cast<std::size_t>(end - begin);
    const std::span sums(sums_.data() + first, n);
    Pending pending = round.comm.start_all_reduce(sums, Combine::sum, round.route());
    return std::make_unique<ExactFlight>(round.comm, std::move(pending), sums,
                                         store.grads(begin, end), 1 / scale_);
  }

  Health health() const override { return health_; }
  void archive_partial(Archive& archive, ParameterStore& store) override {
    const auto n = static_cast<std::size_t>(store.size());
    sums_.resize(n);
    words_ = empty({2 * store.size()}, DType::i32);
    std::memcpy(words_.raw(), sums_.data(), n * sizeof(std::int64_t));
    archive.field("partial_sums", words_);
    std::memcpy(sums_.data(), words_.raw(), n * sizeof(std::int64_t));
    archive.field("not_finite", health_.not_finite);
    archive.field("out_of_range", health_.out_of_range);
  }
  void judge(const Health& all) override {
    if (all.out_of_range > 0)
      fail(ErrorKind::non_finite,
           "comm.reduction exact: {} gradient elements of this step are {:g} or larger and do not "
           "fit; lower comm.exact_scale (now {:g})",
           all.out_of_range, limit / scale_, scale_);
  }

 private:
  // 2^62 shared by up to 2^16 addends: micro-batches times ranks.
  static constexpr double limit = 0x1p46;

  void count_outside(std::span<const float> grads) {
    for (const float grad : grads) {
      if (!std::isfinite(grad))
        ++health_.not_finite;
      else if (std::abs(static_cast<double>(grad) * scale_) >= limit)
        ++health_.out_of_range;
    }
  }

  double scale_;
  std::vector<std::int64_t> sums_;
  Health health_;
  Tensor words_;  // each sum as two of them: an archive that saves reads them when it ends
};

}  // namespace

std::unique_ptr<Reduction> make_exact_reduction(double scale) {
  return std::make_unique<ExactReduction>(scale);
}

}  // namespace skep
