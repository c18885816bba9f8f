#pragma once
// The loss over a validation set: every target once, split over the ranks, the same number
// (to rounding) for any number of them.
#include "model/language_model.h"
#include "mpi_comm/communicator.h"
#include "train/data/loader.h"
#include "train/loss/objective.h"
#include "train/sync/gradient_sync.h"

namespace skep {

/// Sums over the batches of all ranks. Collective.
StepTotals evaluate(LanguageModel& model, Objective& objective, const EvaluationLoader& data,
                    Communicator& comm);

}  // namespace skep
