#include "engine/backends/cpu/cpu_backend.h"

#include <cstring>

#include "engine/backends/cpu/attention.h"
#include "engine/backends/cpu/gemm.h"
#include "engine/backends/cpu/memory.h"

namespace skep {
namespace {

class CpuBackend final : public Backend {
 public:
  void* allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void release(void* data, std::size_t bytes) override { memory_.release(data, bytes); }
  void copy_from_host(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void copy_to_host(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  std::unique_ptr<Crossing> start_copy_from_host(void* to, const void* from,
                                                 std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return std::make_unique<FinishedCrossing>();
  }
  std::unique_ptr<Crossing> start_copy_to_host(void* to, const void* from,
                                               std::size_t bytes) override {
    return start_copy_from_host(to, from, bytes);
  }
  std::unique_ptr<Crossing> reached() override { return std::make_unique<FinishedCrossing>(); }
  std::shared_ptr<void> expose() override { return nullptr; }
  void* allocate_staging(std::size_t bytes) override { return allocate(bytes); }
  void release_staging(void* data, std::size_t bytes) override { release(data, bytes); }
  MemoryUse memory() const override { return memory_.use(); }
  void reset_peak() override { memory_.reset_peak(); }
  double product_flops() const override { return cpu::product_flops(); }
  void gemm(const Matrix& a, const Matrix& b, const Matrix& c,
            const GemmOptions& options) override {
    cpu::gemm(a, b, c, options);
  }
  void attention_forward(const AttentionArgs& args, const Tensor& out,
                         const Tensor& log_sum_exp) override {
    cpu::attention_forward(args, out, log_sum_exp);
  }
  void attention_backward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp,
                          const Tensor& grad_out, const Tensor& grad_query, const Tensor& grad_key,
                          const Tensor& grad_value) override {
    cpu::attention_backward(args, out, log_sum_exp, grad_out, grad_query, grad_key, grad_value);
  }

 private:
  cpu::CachingAllocator memory_;
};

}  // namespace

Backend& cpu_backend() {
  // Never destroyed: tensors with static lifetime may give their memory back after main.
  static auto* const instance = new CpuBackend;
  return *instance;
}

}  // namespace skep
