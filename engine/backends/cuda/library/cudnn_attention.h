#pragma once
// Attention by cuDNN's fused kernels, for the arguments that they take. A plan is made once for
// each layout and kept; building one takes up to seconds, running it no more than the launches.
// Backward is deterministic.
#include <map>
#include <mutex>
#include <string>

#include "engine/backends/cuda/library/cudnn_attention_graph.h"
#include "engine/backends/cuda/runtime.h"

namespace skep::cuda {

/// Why cuDNN does not take these arguments on a device of this compute capability (80, 90, …);
/// empty when it does.
std::string refusal_of_attention(const AttentionArgs& args, int compute_capability);

class CudnnAttention {
 public:
  /// Workspaces come from `memory`, in the order of its compute stream. cuDNN starts when it is
  /// first needed, for the thread's current device.
  CudnnAttention(Runtime& memory, int compute_capability)
      : memory_(memory), compute_capability_(compute_capability) {}
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  bool takes(const AttentionArgs& args) const {
    return refusal_of_attention(args, compute_capability_).empty();
  }
  /// As Backend::attention_forward, for arguments that it takes, on the compute stream.
  void forward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp,
               cudaStream_t compute);
  /// As Backend::attention_backward.
  void backward(const AttentionArgs& args, const Tensor& out, const Tensor& log_sum_exp,
                const Tensor& grad_out, const Tensor& grad_query, const Tensor& grad_key,
                const Tensor& grad_value, cudaStream_t compute);

 private:
  cudnnHandle_t handle();

  Runtime& memory_;
  const int compute_capability_;
  cudnnHandle_t handle_ = nullptr;
  std::mutex mutex_;  // guards the handle's stream and the plans
  std::map<cudnn::ForwardLayouts, cudnn::Plan> forward_plans_;
  std::map<cudnn::BackwardLayouts, cudnn::Plan> backward_plans_;
};

}  // namespace skep::cuda
