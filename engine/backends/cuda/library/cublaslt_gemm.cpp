#include "engine/backends/cuda/library/cublaslt_gemm.h"

#include "engine/backends/cuda/library/cublas_check.h"
#include "engine/backends/cuda/pack.h"

namespace skep::cuda {
namespace {

// Epilogues load a bias in pieces of 16 bytes, and the heuristic cannot be told where it begins.
bool is_aligned(const void* bias) { return reinterpret_cast<std::uintptr_t>(bias) % 16 == 0; }

}  // namespace

CublasLtGemm::CublasLtGemm(const Context& context, DeviceMemory& memory) : context_(context) {
  context.enter();
  CUDA_CHECK(cublasLtCreate(&handle_));
  workspace_.data = memory.allocate(Workspace::bytes);
}

CublasLtPlan* CublasLtGemm::plan_for(const Operands& operands) {
  using Bias = ProductKind::Bias;
  const ProductKind kind =
      kind_of(operands.product, operands.bias == nullptr ? Bias::none : Bias::of_result);
  auto found = plans_.find(kind);
  if (found == plans_.end())
    found = plans_.emplace(kind, CublasLtPlan::find(handle_, operands)).first;
  return found->second ? &*found->second : nullptr;
}

// False when cuBLASLt has no algorithm for it.
bool CublasLtGemm::run(const Operands& operands) {
  CublasLtPlan* const plan = plan_for(operands);
  if (plan == nullptr) return false;
  plan->run(handle_, operands, workspace_, context_.stream(StreamId::compute));
  return true;
}

// The bias as an epilogue takes it: in c's type, at an aligned address. Undefined when it is that
// already.
Tensor CublasLtGemm::fitting_bias(const void* bias, const Matrix& c) const {
  if (compute_type(c.dtype) == c.dtype && is_aligned(bias)) return {};
  const Matrix row{const_cast<void*>(bias), compute_type(c.dtype), 1, c.columns, c.columns, 1};
  return packed({Device::Kind::cuda, context_.device()}, row, c.dtype);
}

void CublasLtGemm::multiply(const Matrix& a, const Matrix& b, const Matrix& c,
                            const GemmOptions& options) {
  context_.enter();
  const std::lock_guard lock(mutex_);
  const Operands plain{column_major(a, b, c), options.alpha, options.write, nullptr};
  if (options.bias != nullptr) {
    const Tensor moved = fitting_bias(options.bias, c);
    Operands with_bias = plain;
    with_bias.bias = moved.defined() ? moved.raw() : options.bias;
    if (run(with_bias)) return;
  }
  check(run(plain), "cuBLASLt has no algorithm for ({}, {}) times ({}, {}) in {}", a.rows,
        a.columns, b.rows, b.columns, name_of(a.dtype));
  // No epilogue for this kind: one more pass over c.
  if (options.bias != nullptr)
    unpack({Device::Kind::cuda, context_.device()}, {}, c,
           {.write = Write::accumulate, .bias = options.bias});
}

}  // namespace skep::cuda
