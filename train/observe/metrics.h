#pragma once
// What a run's files say about a step: the fields of metrics.jsonl, their names and order. The keys
// are a contract; the other formats (CSV, TensorBoard) are made from the same fields.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "train/observe/observer.h"

namespace skep {

/// A number that is not finite is null: JSON has no NaN.
nlohmann::ordered_json step_fields(const StepReport& report);
nlohmann::ordered_json validation_fields(std::int64_t step, double loss);

}  // namespace skep
