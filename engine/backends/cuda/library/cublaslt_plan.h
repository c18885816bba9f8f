#pragma once
// One kind of product as cuBLASLt wants it told: its descriptors, and the algorithm that the
// library's heuristic chose. Sums are made in fp32 (fp64 for fp64): fp32 is no TF32, and a product
// cut along k is put together in the type it was summed in. One algorithm for one kind of product:
// results repeat bit for bit.
#include <cublasLt.h>

#include <compare>
#include <memory>
#include <optional>

#include "engine/backends/column_major.h"
#include "engine/kernels/launch.h"

namespace skep::cuda {

/// All that a choice of algorithm depends on.
struct ProductKind {
  struct Side {
    std::int64_t leading = 0;
    ColumnMajor::Use use = ColumnMajor::Use::as_is;
    DType dtype = DType::f32;
    std::uint32_t alignment = 0;  // of its address, in bytes; views begin anywhere
    auto operator<=>(const Side&) const = default;
  };
  std::int64_t m = 0, n = 0, k = 0;
  Side left, right, result;
  enum class Bias { none, of_result } bias = Bias::none;  // in the result's type, aligned to 16
  auto operator<=>(const ProductKind&) const = default;
};

ProductKind kind_of(const ColumnMajorProduct& product, ProductKind::Bias bias);

/// Room for products that are cut along k, shared by all: they run one after the other.
struct Workspace {
  static constexpr std::size_t bytes = std::size_t{32} << 20;
  void* data = nullptr;
};

class CublasLtPlan {
 public:
  struct Operands {
    ColumnMajorProduct product;
    double alpha = 1;
    Write write = Write::overwrite;
    const void* bias = nullptr;
  };

  /// For products of the kind of `like`; nothing when cuBLASLt has no algorithm for it.
  static std::optional<CublasLtPlan> find(cublasLtHandle_t handle, const Operands& like);

  void run(cublasLtHandle_t handle, const Operands& operands, const Workspace& workspace,
           cudaStream_t stream);

 private:
  template <class Opaque, cublasStatus_t (*destroy)(Opaque*)>
  struct Destroy {
    void operator()(Opaque* descriptor) const { destroy(descriptor); }
  };
  template <class Opaque, cublasStatus_t (*destroy)(Opaque*)>
  using Owned = std::unique_ptr<Opaque, Destroy<Opaque, destroy>>;
  using Layout = Owned<cublasLtMatrixLayoutOpaque_t, cublasLtMatrixLayoutDestroy>;
  using Operation = Owned<cublasLtMatmulDescOpaque_t, cublasLtMatmulDescDestroy>;
  using Preference = Owned<cublasLtMatmulPreferenceOpaque_t, cublasLtMatmulPreferenceDestroy>;

  explicit CublasLtPlan(const Operands& like);
  static Layout layout_of(const ColumnMajor& m);
  static Operation operation_of(const ColumnMajorProduct& product);
  static Preference preference_for(const ColumnMajorProduct& product);
  void set_bias(const void* bias);

  Operation operation_;
  Layout left_, right_, result_;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace skep::cuda
