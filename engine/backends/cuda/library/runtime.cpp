// The GPU itself, behind the seam: CUDA's runtime and its libraries.
#include "engine/backends/cuda/runtime.h"

#include <array>
#include <mutex>

#include "engine/backends/cuda/library/context.h"
#include "engine/backends/cuda/library/cublaslt_gemm.h"
#include "engine/backends/cuda/library/cuda_check.h"
#include "engine/backends/cuda/library/cudnn_attention.h"
#include "engine/backends/cuda/library/event.h"
#include "engine/backends/cuda/library/memory.h"
#include "engine/backends/cuda/library/nccl_group.h"

namespace skep::cuda {
namespace {

class LibraryRuntime final : public Runtime {
 public:
  explicit LibraryRuntime(int device) : context_(device) {}

  void enter() const { context_.enter(); }

  DeviceInfo info() override {
    context_.enter();
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, context_.device()));
    DeviceInfo info{.name = properties.name};
    CUDA_CHECK(cudaMemGetInfo(&info.free_bytes, &info.total_bytes));
    return info;
  }

  void* allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void release(void* data) override { memory_.release(data); }
  std::size_t reserved_bytes() override { return memory_.reserved_bytes(); }
  void* allocate_pinned(std::size_t bytes) override {
    context_.enter();
    return cuda::allocate_pinned(bytes);
  }

  void copy(void* to, const void* from, std::size_t bytes, StreamId stream) override {
    context_.enter();
    CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, context_.stream(stream)));
  }
  void synchronize(StreamId stream) override {
    CUDA_CHECK(cudaStreamSynchronize(context_.stream(stream)));
  }
  std::unique_ptr<Event> make_event() override { return cuda::make_event(context_); }
  std::shared_ptr<void> expose() override { return nullptr; }  // it always is

  std::string why_no_groups() override { return why_no_nccl(); }
  GroupId make_group_id() override { return make_nccl_id(); }
  std::unique_ptr<Group> join(const GroupId& id, int rank, int size) override {
    return join_nccl(context_, id, rank, size);
  }

  void gemm(const Matrix& a, const Matrix& b, const Matrix& c,
            const GemmOptions& options) override {
    products_.multiply(a, b, c, options);
  }

  bool takes_attention(const AttentionArgs& args) override { return attention_.takes(args); }
  void attention_forward(const AttentionArgs& args, const Tensor& out,
                         const Tensor& log_sum_exp) override {
    attention_.forward(args, out, log_sum_exp, context_.stream(StreamId::compute));
  }
  void attention_backward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp,
                          const Tensor& grad_out, const Tensor& grad_query, const Tensor& grad_key,
                          const Tensor& grad_value) override {
    attention_.backward(args, out, log_sum_exp, grad_out, grad_query, grad_key, grad_value,
                        context_.stream(StreamId::compute));
  }

 private:
  Context context_;
  DeviceMemory memory_{context_};
  CublasLtGemm products_{context_, memory_};
  CudnnAttention attention_{*this, context_.compute_capability()};
};

}  // namespace

Runtime& runtime(int device) {
  constexpr int most_devices = 64;
  check(device >= 0 && device < most_devices, "there is no GPU {}", device);
  // Never destroyed: tensors of static lifetime may give their memory back after main.
  static std::mutex mutex;
  static std::array<LibraryRuntime*, most_devices> made{};
  const std::lock_guard lock(mutex);
  LibraryRuntime*& runtime = made[static_cast<std::size_t>(device)];
  if (runtime == nullptr) runtime = new LibraryRuntime(device);
  runtime->enter();
  return *runtime;
}

}  // namespace skep::cuda
