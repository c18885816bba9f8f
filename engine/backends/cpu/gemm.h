#pragma once
// Matrix products on the CPU. gemm() is the only entry; the two libraries behind it are visible
// so that each is tested against a plain loop.
#include "engine/backends/backend.h"

namespace skep::cpu {

/// c (=, +=) alpha a b + bias; any strides, any floating types of a common kind.
void gemm(const Matrix& a, const Matrix& b, const Matrix& c, const GemmOptions& options);

/// Multiplications and additions of all calls of gemm so far, on all threads.
double product_flops();

/// fp32 and fp64; a and b have adjacent rows or adjacent columns, c adjacent columns.
void gemm_eigen(const Matrix& a, const Matrix& b, const Matrix& c, const GemmOptions& options);

/// True when the build found oneDNN.
bool has_onednn();
/// True when oneDNN multiplies bf16 on this CPU (with AVX-512); elsewhere such products are made in
/// fp32.
bool has_bf16_products();
/// fp32, and with has_bf16_products() bf16 inputs with fp32 or bf16 result; c has adjacent columns.
/// A bias only with alpha 1. Only when has_onednn().
void gemm_onednn(const Matrix& a, const Matrix& b, const Matrix& c, const GemmOptions& options);
/// oneDNN compiles a product for its sizes; this thread keeps at most that many of them.
inline constexpr std::size_t most_kept_products = 1024;
std::size_t kept_products();

}  // namespace skep::cpu
