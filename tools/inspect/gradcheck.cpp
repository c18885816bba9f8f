// inspect gradcheck: the op table drives it, so no op can be left out.
#include <cmath>

#include "engine/autograd/gradcheck.h"
#include "engine/core/error.h"
#include "engine/ops/op_table.h"
#include "tools/common/print.h"
#include "tools/inspect/commands.h"

namespace skep {
namespace {

// The worst of an op's samples.
GradcheckResult check_op(const OpEntry& op, std::uint64_t seed) {
  GradcheckResult all;
  for (const OpSample& sample : op.samples()) {
    const GradcheckResult one = gradcheck(sample.call, make_inputs(sample, DType::f64, seed));
    all.elements += one.elements;
    if (one.worst_error > all.worst_error || std::isnan(one.worst_error)) {
      all.worst_error = one.worst_error;
      all.where = one.where;
    }
  }
  return all;
}

}  // namespace

void inspect_gradcheck(const Arguments& arguments) {
  const auto flags = make_flags(
      "inspect gradcheck",
      "Compares the gradient of every op with central differences, in fp64. Exit code 1 when one "
      "is wrong.");
  double tolerance = 1e-6;
  std::int64_t seed = 1;
  add_number(*flags, "--tolerance", "X", tolerance,
             "largest |analytic - numeric| / (1 + |numeric|) that is ok");
  add_number(*flags, "--seed", "S", seed, "of the inputs");
  if (const std::string help = parse(*flags, arguments); !help.empty()) return print(help);

  std::vector<std::string> wrong;
  print(fmt::format("{:<18} {:>8} {:>11}        {}\n", "op", "elements", "worst error", "formula"));
  for (const OpEntry* op : op_table()) {
    const GradcheckResult result = check_op(*op, static_cast<std::uint64_t>(seed));
    const bool ok = result.worst_error <= tolerance;  // false for NaN
    print(fmt::format("{:<18} {:>8} {:>11.1e}  {:<4}  {}\n", op->name(), result.elements,
                      result.worst_error, ok ? "ok" : "FAIL", op->formula()));
    if (!ok) wrong.push_back(fmt::format("{} ({})", op->name(), result.where));
  }
  if (!wrong.empty())
    fail(ErrorKind::bug, "wrong gradients (tolerance {}): {}", tolerance, fmt::join(wrong, "; "));
}

}  // namespace skep
