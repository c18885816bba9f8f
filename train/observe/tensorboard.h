#pragma once
// Event files that TensorBoard reads. A file is a row of TFRecords (length, checksum, data,
// checksum), each of them an Event in protobuf's wire format: wall time, step, and a Summary of
// named numbers. Written by hand: it is these few functions, against a library of its own.
// Formats: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto,
// tensorflow/core/framework/summary.proto; CRC-32C: RFC 3720, B.4.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "train/observe/observer.h"

namespace skep::tensorboard {

struct Scalar {
  std::string tag;
  float value;
};

/// Of the Castagnoli polynomial.
std::uint32_t crc32c(std::string_view bytes);

/// `data` as it stands in a file.
std::string frame(std::string_view data);

/// Events. Times are seconds since 1970.
std::string version_event(double wall_time);  ///< the first of every file
/// Tells a reader that steps from this one on are written again: a resumed run.
std::string restart_event(double wall_time, std::int64_t step);
std::string scalars_event(double wall_time, std::int64_t step, std::span<const Scalar> scalars);

}  // namespace skep::tensorboard

namespace skep {

/// A new event file in `folder`, which is made. Tags are train/FIELD for the numbers of a training
/// line of metrics.jsonl, ranks/FIELD/min, median and max for those over ranks, and val/loss.
/// `first`: the step the run starts from. Error(storage) when it cannot be written.
std::unique_ptr<Observer> make_tensorboard(const std::string& folder, std::int64_t first);

}  // namespace skep
