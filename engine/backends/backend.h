#pragma once
// The seam between ops and devices: memory, matrix products, attention. Everything else an op does
// goes through engine/kernels and needs no seam.
#include <cstddef>
#include <memory>

#include "engine/backends/crossing.h"
#include "engine/backends/matrix.h"
#include "engine/kernels/launch.h"

namespace skep {

struct GemmOptions {
  Write write = Write::overwrite;
  double alpha = 1;            ///< factor on the product
  const void* bias = nullptr;  ///< one value per column of c, fp32 (fp64 for an fp64 c); or none
};

/// Attention over (B, T, H, D) tensors with any strides in B, T, H and adjacent elements in D.
struct AttentionArgs {
  Tensor query;  ///< (B, T, H, D)
  Tensor key;    ///< (B, S, K, D), S >= T; query head h reads key head h / (H / K)
  Tensor value;  ///< (B, S, K, Dv)
  Tensor mask;   ///< (T, S) int32, 1 = may look; or undefined
  double scale = 1;
  enum class Causal { no, yes } causal = Causal::yes;  ///< query i sees keys up to i + S - T
};

/// Of tensors on one device, in bytes.
struct MemoryUse {
  std::size_t in_use = 0;    ///< by living tensors
  std::size_t peak = 0;      ///< largest in_use since reset_peak()
  std::size_t reserved = 0;  ///< taken from the system: does not grow in a steady step
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual MemoryUse memory() const = 0;
  virtual void reset_peak() = 0;
  /// Multiplications and additions of all matrix products so far.
  virtual double product_flops() const = 0;

  /// Memory aligned to 64 bytes. Released blocks are kept for reuse: a steady step asks the system
  /// for nothing.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* data, std::size_t bytes) = 0;
  /// Between this device's memory and the host's; for the host it is done when they return.
  virtual void copy_from_host(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy_to_host(void* to, const void* from, std::size_t bytes) = 0;
  /// The same, after all that was asked of the device so far and beside what is asked of it later.
  /// Both memories must be left alone until the copy is made; only work on the device that is asked
  /// for later may count on start_copy_from_host. The host's memory is allocate_staging()'s.
  virtual std::unique_ptr<Crossing> start_copy_from_host(void* to, const void* from,
                                                         std::size_t bytes) = 0;
  virtual std::unique_ptr<Crossing> start_copy_to_host(void* to, const void* from,
                                                       std::size_t bytes) = 0;
  /// Done when all that was asked of the device so far is.
  virtual std::unique_ptr<Crossing> reached() = 0;
  /// While what it returns lives, others than this device's own work, such as a network's library,
  /// may reach the device's memory by its addresses.
  virtual std::shared_ptr<void> expose() = 0;
  /// Memory of the host that this device reaches by itself, without a detour.
  virtual void* allocate_staging(std::size_t bytes) = 0;
  virtual void release_staging(void* data, std::size_t bytes) = 0;

  /// c (=, +=) alpha a b + bias. (m, k) (k, n) -> (m, n).
  virtual void gemm(const Matrix& a, const Matrix& b, const Matrix& c,
                    const GemmOptions& options) = 0;

  /// out (B, T, H, Dv) = softmax(scale Q Kᵀ) V. `log_sum_exp` (B, H, T), in the compute type, is
  /// kept for backward. A row that may look nowhere gives 0 and log-sum-exp -inf.
  virtual void attention_forward(const AttentionArgs& args, const Tensor& out,
                                 const Tensor& log_sum_exp) = 0;
  /// Overwrites grad_query, grad_key, grad_value (laid out as the inputs are).
  virtual void attention_backward(const AttentionArgs& args, const Tensor& out,
                                  const Tensor& log_sum_exp, const Tensor& grad_out,
                                  const Tensor& grad_query, const Tensor& grad_key,
                                  const Tensor& grad_value) = 0;
};

/// The backend of a device; lives until the process ends.
Backend& backend(Device device);

}  // namespace skep
