#pragma once
// The table behind `bench ops`: every op at the size it has in a block of a GPT-2, with the work
// that its algorithm needs. An op without a line here is reported as not measured.
#include <functional>
#include <string>
#include <vector>

#include "engine/core/tensor.h"
#include "tools/bench/training_step.h"

namespace skep {

/// What an op must do at least. Products count their multiplications and additions, everything else
/// the bytes it reads and writes; both are 0 where a view, or a gradient passed on, moves nothing.
struct Work {
  double flops = 0, bytes = 0;
  bool nothing() const { return flops == 0 && bytes == 0; }
};

/// How one tensor argument is made.
struct CaseInput {
  enum class Role {
    activation,  ///< of the type measured, as its gradient
    weight,      ///< of the type measured, its gradient fp32
    wide,        ///< fp32 always: what norms and biases keep in mixed precision
    narrow,      ///< bf16 always
    ids          ///< int32 in [0, below)
  } role;
  Shape shape;
  std::int64_t below = 0;
};

struct OpCase {
  std::string op;  ///< its name in the op table
  std::vector<CaseInput> inputs;
  Work forward;   ///< while recording: head_cross_entropy does its gradient's products here
  Work backward;  ///< of all inputs that want a gradient
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> call;

  std::string shapes() const;  ///< of its inputs: "(4, 256, 768) (768) x 2"
};

/// The cases at the preset's sizes with operands of type `compute`.
std::vector<OpCase> op_cases(const BenchPreset& preset, DType compute);

/// Fresh tensors for a case; all that are not ids want a gradient.
std::vector<Tensor> make_inputs(const OpCase& op_case, DType compute);

/// Names in the op table for which `cases` has no line.
std::vector<std::string> unmeasured_ops(const std::vector<OpCase>& cases);

}  // namespace skep
