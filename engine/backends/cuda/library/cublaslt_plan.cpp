#include "engine/backends/cuda/library/cublaslt_plan.h"

#include <algorithm>
#include <bit>

#include "engine/backends/cuda/library/cublas_check.h"

namespace skep::cuda {
namespace {

cudaDataType_t cuda_type(DType t) {
  switch (t) {
    case DType::f32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    case DType::f64:
      return CUDA_R_64F;
    default:
      break;
  }
  fail(ErrorKind::bug, "cuBLASLt: no products of {}", name_of(t));
}

// Up to the 256 bytes of a fresh tensor.
std::uint32_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data) | 256;
  return std::uint32_t{1} << std::countr_zero(address);
}

ProductKind::Side side_of(const ColumnMajor& m) {
  return {m.leading, m.use, m.dtype, alignment_of(m.data)};
}

cublasOperation_t operation_on(const ColumnMajor& m) {
  return m.use == ColumnMajor::Use::transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

template <class T>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name, const T& value) {
  CUDA_CHECK(cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof value));
}
template <class T>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t name,
         const T& value) {
  CUDA_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof value));
}

}  // namespace

ProductKind kind_of(const ColumnMajorProduct& p, ProductKind::Bias bias) {
  return {p.m, p.n, p.k, side_of(p.left), side_of(p.right), side_of(p.result), bias};
}

CublasLtPlan::Layout CublasLtPlan::layout_of(const ColumnMajor& m) {
  cublasLtMatrixLayout_t layout = nullptr;
  CUDA_CHECK(cublasLtMatrixLayoutCreate(&layout, cuda_type(m.dtype),
                                        static_cast<std::uint64_t>(m.rows),
                                        static_cast<std::uint64_t>(m.columns), m.leading));
  return Layout(layout);
}

CublasLtPlan::Operation CublasLtPlan::operation_of(const ColumnMajorProduct& product) {
  const bool wide = product.result.dtype == DType::f64;
  cublasLtMatmulDesc_t made = nullptr;
  CUDA_CHECK(cublasLtMatmulDescCreate(&made, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                      wide ? CUDA_R_64F : CUDA_R_32F));
  Operation operation(made);
  set(made, CUBLASLT_MATMUL_DESC_TRANSA, operation_on(product.left));
  set(made, CUBLASLT_MATMUL_DESC_TRANSB, operation_on(product.right));
  return operation;
}

CublasLtPlan::Preference CublasLtPlan::preference_for(const ColumnMajorProduct& product) {
  cublasLtMatmulPreference_t made = nullptr;
  CUDA_CHECK(cublasLtMatmulPreferenceCreate(&made));
  Preference preference(made);
  set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{Workspace::bytes});
  // Not OUTPUT_TYPE nor INPLACE: they would add partial sums up in bf16.
  set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(product.left.data));
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(product.right.data));
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(product.result.data));
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(product.result.data));
  return preference;
}

// In the result's type: cuBLASLt takes no other.
void CublasLtPlan::set_bias(const void* bias) {
  set(operation_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
}

CublasLtPlan::CublasLtPlan(const Operands& like)
    : operation_(operation_of(like.product)),
      left_(layout_of(like.product.left)),
      right_(layout_of(like.product.right)),
      result_(layout_of(like.product.result)) {
  if (like.bias == nullptr) return;
  set(operation_.get(), CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  set_bias(like.bias);
}

std::optional<CublasLtPlan> CublasLtPlan::find(cublasLtHandle_t handle, const Operands& like) {
  CublasLtPlan plan(like);
  const Preference preference = preference_for(like.product);
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  const cublasStatus_t code = cublasLtMatmulAlgoGetHeuristic(
      handle, plan.operation_.get(), plan.left_.get(), plan.right_.get(), plan.result_.get(),
      plan.result_.get(), preference.get(), 1, &best, &found);
  if (code == CUBLAS_STATUS_NOT_SUPPORTED) return std::nullopt;
  CUDA_CHECK(code);
  if (found == 0 || best.state != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  plan.algorithm_ = best.algo;
  return plan;
}

void CublasLtPlan::run(cublasLtHandle_t handle, const Operands& operands,
                       const Workspace& workspace, cudaStream_t stream) {
  if (operands.bias != nullptr) set_bias(operands.bias);
  const ColumnMajorProduct& p = operands.product;
  const auto multiply = [&](auto alpha, auto beta) {
    CUDA_CHECK(cublasLtMatmul(handle, operation_.get(), &alpha, p.left.data, left_.get(),
                              p.right.data, right_.get(), &beta, p.result.data, result_.get(),
                              p.result.data, result_.get(), &algorithm_, workspace.data,
                              Workspace::bytes, stream));
  };
  const double alpha = operands.alpha, beta = operands.write == Write::accumulate ? 1 : 0;
  if (p.result.dtype == DType::f64) return multiply(alpha, beta);
  multiply(static_cast<float>(alpha), static_cast<float>(beta));
}

}  // namespace skep::cuda
