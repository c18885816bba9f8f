#pragma once
// Matrix products by cuBLASLt, each kind of them with a plan of its own that is made once.
#include <map>
#include <mutex>

#include "engine/backends/cuda/library/cublaslt_plan.h"
#include "engine/backends/cuda/library/memory.h"

namespace skep::cuda {

class CublasLtGemm {
 public:
  CublasLtGemm(const Context& context, DeviceMemory& memory);

  /// As Runtime::gemm.
  void multiply(const Matrix& a, const Matrix& b, const Matrix& c, const GemmOptions& options);

 private:
  using Operands = CublasLtPlan::Operands;
  CublasLtPlan* plan_for(const Operands& operands);
  bool run(const Operands& operands);
  Tensor fitting_bias(const void* bias, const Matrix& c) const;

  const Context& context_;
  cublasLtHandle_t handle_ = nullptr;  // lives until the process ends, as the GPU
  Workspace workspace_;
  std::mutex mutex_;
  std::map<ProductKind, std::optional<CublasLtPlan>> plans_;
};

}  // namespace skep::cuda
