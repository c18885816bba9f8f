// The GPU of machines without one. Kernels run on the host, by scheduler.h; only the products and
// the attention that the vendor's libraries would do are the CPU backend's. Work happens when it is
// asked for, except copies on the copy stream: streams.h.
#include "engine/backends/cuda/runtime.h"

#include <cstdlib>
#include <cstring>

#include "engine/backends/cpu/attention.h"
#include "engine/backends/cpu/gemm.h"
#include "engine/backends/cuda/simulated/group.h"
#include "engine/backends/cuda/simulated/language.h"
#include "engine/backends/cuda/simulated/memory.h"
#include "engine/backends/cuda/simulated/streams.h"
#include "engine/backends/transfer.h"

namespace skep::cuda {
namespace {

using simulated::device_memory;
using simulated::DeviceMemory;

using simulated::streams;

void copy_now(void* to, const void* from, std::size_t bytes) {
  const DeviceMemory::Opening opening(device_memory());
  std::memmove(to, from, bytes);
}

class SimulatedRuntime final : public Runtime {
 public:
  DeviceInfo info() override {
    const std::size_t total = device_memory().total_bytes();
    return {"simulated GPU", total, total - device_memory().reserved_bytes()};
  }
  void* allocate(std::size_t bytes) override { return device_memory().allocate(bytes); }
  void release(void* data) override { device_memory().release(data); }
  std::size_t reserved_bytes() override { return device_memory().reserved_bytes(); }
  void* allocate_pinned(std::size_t bytes) override { return std::malloc(bytes); }

  void copy(void* to, const void* from, std::size_t bytes, StreamId stream) override {
    if (stream == StreamId::compute) {
      streams().computed();
      return copy_now(to, from, bytes);
    }
    if (!device_memory().holds(to)) std::memset(to, 0xff, bytes);
    streams().add_copy([=] { copy_now(to, from, bytes); });
  }
  void synchronize(StreamId stream) override {
    if (stream == StreamId::copy) return streams().finish_copies();
    streams().wait_for_computing();
  }
  std::unique_ptr<Event> make_event() override { return streams().make_event(); }
  std::shared_ptr<void> expose() override {
    return std::make_shared<DeviceMemory::Opening>(device_memory());
  }

  std::string why_no_groups() override { return ""; }
  GroupId make_group_id() override { return simulated::make_group_id(); }
  std::unique_ptr<Group> join(const GroupId& id, int rank, int size) override {
    return simulated::join(id, rank, size);
  }

  void gemm(const Matrix& a, const Matrix& b, const Matrix& c,
            const GemmOptions& options) override {
    streams().computed();
    const DeviceMemory::Opening opening(device_memory());
    cpu::gemm(a, b, c, options);
  }

  // As cuDNN: narrow types, heads of a multiple of 8, no mask.
  bool takes_attention(const AttentionArgs& args) override {
    const bool narrow = args.query.dtype() == DType::bf16 || args.query.dtype() == DType::f16;
    return narrow && !args.mask.defined() && args.query.size(3) % 8 == 0 &&
           args.value.size(3) == args.query.size(3);
  }
  void attention_forward(const AttentionArgs& args, const Tensor& out,
                         const Tensor& log_sum_exp) override {
    const Tensor y = host_like(out), lse = host_like(log_sum_exp);
    cpu::attention_forward(on_host(args), y, lse);
    transfer(out, y);
    transfer(log_sum_exp, lse);
  }
  void attention_backward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp,
                          const Tensor& grad_out, const Tensor& grad_query, const Tensor& grad_key,
                          const Tensor& grad_value) override {
    const Tensor gq = host_like(grad_query), gk = host_like(grad_key), gv = host_like(grad_value);
    cpu::attention_backward(on_host(args), to_device(out, {}), to_device(log_sum_exp, {}),
                            to_device(grad_out, {}), gq, gk, gv);
    transfer(grad_query, gq);
    transfer(grad_key, gk);
    transfer(grad_value, gv);
  }

 private:
  static Tensor host_like(const Tensor& t) { return empty(t.shape(), t.dtype()); }
  static AttentionArgs on_host(AttentionArgs args) {
    for (Tensor* t : {&args.query, &args.key, &args.value}) *t = to_device(*t, {});
    return args;
  }
};

}  // namespace

Availability available() { return {1, "", true}; }

Runtime& runtime(int device) {
  check(device == 0, "there is no simulated GPU {}", device);
  static auto* const instance = new SimulatedRuntime;
  return *instance;
}

}  // namespace skep::cuda

namespace skep::simulated {

void run_kernel(const Kernel& kernel, std::int64_t blocks, int threads, void (*body)(void*),
                void* context) {
  streams().computed();
  const DeviceMemory::Opening opening(device_memory());
  run_grid(kernel, blocks, threads, body, context);
}

}  // namespace skep::simulated
