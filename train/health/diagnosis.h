#pragma once
// What is told about a step whose loss or gradient is not finite: on which ranks it began, in which
// layer and op, and with which batch, which is kept in a small file for a closer look.
#include <string>

#include "train/trainer.h"

namespace skep {

/// The step that failed.
struct FailedStep {
  std::int64_t number = 0;    ///< as people count: from 1
  std::int64_t position = 0;  ///< of its first sample
  std::uint64_t seed = 0;     ///< of dropout
  std::string folder;         ///< where the batch goes; empty: nowhere
};

/// Runs this rank's share of the step again, micro-batch by micro-batch, up to the first output or
/// gradient that is not finite, and writes that micro-batch into
/// FOLDER/bad_batch.rank-R.step-N.json. Returns what it found, empty if nothing. The weights must
/// be as they were; the gradients are lost. Not collective.
std::string diagnose(Parts& parts, const FailedStep& step);

/// One line from the findings of all ranks; ranks that found the same share it.
std::string describe_diagnoses(const std::vector<std::string>& by_rank);

}  // namespace skep
