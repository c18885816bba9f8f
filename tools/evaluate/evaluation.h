#pragma once
// The parts of an evaluation: windows of a file, and the lines that tell the result.
#include <optional>
#include <string>

#include "model/model_config.h"
#include "train/data/dataset.h"
#include "train/sync/gradient_sync.h"

namespace skep {

struct EvaluationData {
  Dataset windows;
  std::optional<std::int64_t> target_bytes;  ///< what the targets spell, where the file is a text
};

/// Reads `file` for the model in `folder`, whose configuration is `model`; a text through the
/// folder's tokenizer. Error(data) for ids the model does not know and for fewer than 2 tokens,
/// Error(usage) for a context longer than the model's.
EvaluationData open_evaluation_data(const std::string& file, const std::string& folder,
                                    const ModelConfig& model, std::int64_t context);

/// Lines `loss`, `perplexity`, `tokens` (targets) and, for a text, `bits_per_byte`.
/// Error(non_finite) when the loss is not a number.
std::string format_report(const StepTotals& totals, std::optional<std::int64_t> target_bytes);

}  // namespace skep
