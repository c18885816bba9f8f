#include "engine/backends/cuda/cuda_backend.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/backends/cuda/attention.h"
#include "engine/backends/cuda/gemm.h"
#include "engine/backends/cuda/runtime.h"
#include "engine/backends/cuda/staging.h"

namespace skep {
namespace {

using cuda::StreamId;

// What living tensors use; the runtime keeps released memory for reuse.
class Account {
 public:
  void take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
  }
  void give(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    in_use_ -= bytes;
  }
  void reset_peak() {
    const std::lock_guard lock(mutex_);
    peak_ = in_use_;
  }
  MemoryUse use(std::size_t reserved) const {
    const std::lock_guard lock(mutex_);
    return {in_use_, peak_, reserved};
  }

 private:
  mutable std::mutex mutex_;
  std::size_t in_use_ = 0, peak_ = 0;
};

// Until an event has happened.
class StreamCrossing final : public Crossing {
 public:
  explicit StreamCrossing(std::unique_ptr<cuda::Event> made) : made_(std::move(made)) {}
  bool done() override { return made_->done(); }
  void wait() override {
    while (!done()) std::this_thread::yield();
  }

 private:
  std::unique_ptr<cuda::Event> made_;
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int index)
      : device_{Device::Kind::cuda, index}, gpu_(cuda::runtime(index)) {}

  void* allocate(std::size_t bytes) override {
    void* data = gpu_.allocate(std::max<std::size_t>(bytes, 1));
    account_.take(bytes);
    return data;
  }
  void release(void* data, std::size_t bytes) override {
    gpu_.release(data);
    account_.give(bytes);
  }
  void copy_from_host(void* to, const void* from, std::size_t bytes) override {
    if (!uploads_.copy(to, from, bytes)) copy_and_wait(to, from, bytes);
  }
  void copy_to_host(void* to, const void* from, std::size_t bytes) override {
    copy_and_wait(to, from, bytes);
  }
  std::unique_ptr<Crossing> start_copy_from_host(void* to, const void* from,
                                                 std::size_t bytes) override {
    auto made = start_copy(to, from, bytes);
    made->hold_back(StreamId::compute);
    return std::make_unique<StreamCrossing>(std::move(made));
  }
  std::unique_ptr<Crossing> start_copy_to_host(void* to, const void* from,
                                               std::size_t bytes) override {
    return std::make_unique<StreamCrossing>(start_copy(to, from, bytes));
  }
  std::unique_ptr<Crossing> reached() override {
    auto asked = gpu_.make_event();
    asked->record(StreamId::compute);
    return std::make_unique<StreamCrossing>(std::move(asked));
  }
  std::shared_ptr<void> expose() override { return gpu_.expose(); }
  void* allocate_staging(std::size_t bytes) override {
    return staging_.allocate(std::max<std::size_t>(bytes, 1));
  }
  void release_staging(void* data, std::size_t bytes) override {
    staging_.release(data, std::max<std::size_t>(bytes, 1));
  }
  MemoryUse memory() const override { return account_.use(gpu_.reserved_bytes()); }
  void reset_peak() override { account_.reset_peak(); }
  double product_flops() const override { return cuda::product_flops(); }

  void gemm(const Matrix& a, const Matrix& b, const Matrix& c,
            const GemmOptions& options) override {
    cuda::gemm(gpu_, device_, a, b, c, options);
  }
  void attention_forward(const AttentionArgs& args, const Tensor& out,
                         const Tensor& log_sum_exp) override {
    if (gpu_.takes_attention(args)) return gpu_.attention_forward(args, out, log_sum_exp);
    cuda::attention_forward(args, out, log_sum_exp);
  }
  void attention_backward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp,
                          const Tensor& grad_out, const Tensor& grad_query, const Tensor& grad_key,
                          const Tensor& grad_value) override {
    if (gpu_.takes_attention(args))
      return gpu_.attention_backward(args, out, log_sum_exp, grad_out, grad_query, grad_key,
                                     grad_value);
    cuda::attention_backward(args, out, log_sum_exp, grad_out, grad_query, grad_key, grad_value);
  }

 private:
  void copy_and_wait(void* to, const void* from, std::size_t bytes) {
    gpu_.copy(to, from, bytes, StreamId::compute);
    gpu_.synchronize(StreamId::compute);
  }
  // On the copy stream, after all that the compute stream was asked so far.
  std::unique_ptr<cuda::Event> start_copy(void* to, const void* from, std::size_t bytes) {
    const auto asked = gpu_.make_event();
    asked->record(StreamId::compute);
    asked->hold_back(StreamId::copy);
    gpu_.copy(to, from, bytes, StreamId::copy);
    auto made = gpu_.make_event();
    made->record(StreamId::copy);
    return made;
  }

  const Device device_;
  cuda::Runtime& gpu_;
  cuda::StagingPool staging_{gpu_};
  cuda::Uploads uploads_{gpu_};
  Account account_;
};

}  // namespace

Backend& cuda_backend(int index) {
  constexpr int most_devices = 64;
  check(index >= 0 && index < most_devices, "there is no GPU {}", index);
  // Never destroyed: tensors of static lifetime may give their memory back after main.
  static std::mutex mutex;
  static std::array<CudaBackend*, most_devices> made{};
  const std::lock_guard lock(mutex);
  CudaBackend*& backend = made[static_cast<std::size_t>(index)];
  if (backend == nullptr) backend = new CudaBackend(index);
  return *backend;
}

}  // namespace skep
