#pragma once
// metrics.jsonl: one JSON object a line, one line a step or validation. The keys are a contract.
#include <memory>
#include <string>

#include "train/observe/observer.h"

namespace skep {

/// Continues the file at `path`, keeping only lines of steps up to `first` (a resumed run writes
/// the later ones again). Error(storage) when it cannot be written.
std::unique_ptr<Observer> make_metrics_file(const std::string& path, std::int64_t first);

}  // namespace skep
