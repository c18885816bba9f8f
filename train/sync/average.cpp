#include "train/sync/average.h"

#include <cmath>
#include <span>

#include "engine/backends/transfer.h"
#include "engine/kernels/copy.h"
#include "train/hash.h"

namespace skep {
namespace {

std::span<float> flat(const Tensor& t) {
  return {t.data<float>(), static_cast<std::size_t>(t.numel())};
}

// Visits a part's state as saving and loading do: tensors become means, counters the largest, other
// numbers the smallest.
class AveragingArchive final : public Archive {
 public:
  explicit AveragingArchive(Communicator& comm) : comm_(comm) {}
  void field(std::string_view, std::int64_t& value) override {
    value = comm_.all_reduce(value, Combine::max);
  }
  void field(std::string_view, double& value) override {
    value = comm_.all_reduce(value, Combine::min);
  }
  void field(std::string_view, const Tensor& tensor) override {
    const Tensor host = to_device(tensor, {});
    average(host, comm_);
    if (tensor.device() != Device{}) transfer(tensor, host);
  }

 private:
  Communicator& comm_;
};

}  // namespace

void average(const Tensor& values, Communicator& comm, const Route& route) {
  const int ranks = route.topology.group(comm.place(route.seed, route.step)).size();
  comm.all_reduce(flat(values), Combine::sum, route);
  for (float& value : flat(values)) value /= static_cast<float>(ranks);
}

bool all_same(const Tensor& values, Communicator& comm) {
  return comm.all_equal(hash_bytes(std::as_bytes(flat(values)))).empty();
}

// The mean of equal numbers may be off in its last bit.
double consensus_distance(const Tensor& values, Communicator& comm) {
  if (all_same(values, comm)) return 0;
  const Tensor mean = empty_like(values);
  copy(mean, values);
  average(mean, comm);
  double apart = 0, size = 0;
  const std::span<const float> own = flat(values), middle = flat(mean);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const double m = middle[i], d = own[i] - m;
    apart += d * d;
    size += m * m;
  }
  apart = comm.all_reduce(apart, Combine::sum) / comm.size();
  return size > 0 ? std::sqrt(apart / size) : 0;
}

double rejoin(ParameterStore& store, Optimizer& optimizer, LossScaler& scaler, Communicator& comm) {
  const double before = consensus_distance(store.values(), comm);
  average(store.values(), comm);
  store.commit();
  AveragingArchive averaging(comm);
  optimizer.archive(averaging);
  scaler.archive(averaging);
  return before;
}

}  // namespace skep
