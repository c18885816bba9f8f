#pragma once
// The run's numbers as files of lines: metrics.jsonl, one JSON object a line, one line a step or
// validation; metrics.csv, the same for a spreadsheet; and lr_history.csv, one line a cycle.
#include <memory>
#include <string>

#include "train/observe/observer.h"

namespace skep {

/// Both continue the file at `path`, keeping only lines of steps up to `first` (a resumed run
/// writes the later ones again). Error(storage) when it cannot be written.
std::unique_ptr<Observer> make_metrics_file(const std::string& path, std::int64_t first);

/// A header, then a row for each step and validation. The columns are the fields of a training
/// line of metrics.jsonl without those of tasks and over the ranks, then val_loss; what a row does
/// not know is empty.
std::unique_ptr<Observer> make_csv_file(const std::string& path, std::int64_t first);

/// The history of the learning rate's cycles, likewise: a header, then a row for each cycle that
/// has ended: step, cycle, jitter, val_loss, and next_from, the step whose weights the next cycle
/// begins with.
std::unique_ptr<Observer> make_lr_history(const std::string& path, std::int64_t first);

}  // namespace skep
