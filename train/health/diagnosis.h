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

/// Runs each rank's share of the step again, micro-batch by micro-batch, up to the first output or
/// gradient that is not finite; a rank that finds one writes the micro-batch into
/// FOLDER/bad_batch.rank-R.step-N.json. Returns a line for people. The weights must be as they
/// were; the gradients are lost. Collective, unless ranks are apart: then each looks, and speaks,
/// for itself.
std::string diagnose(Parts& parts, const FailedStep& step, Replicas replicas);

}  // namespace skep
