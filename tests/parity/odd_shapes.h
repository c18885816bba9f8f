#pragma once
// The references of odd_shapes.safetensors and the inputs they were computed from, which are not
// stored: both sides draw them by name (make_odd_shapes.py).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "engine/core/random.h"
#include "engine/kernels/copy.h"
#include "model/hf/safetensors.h"

namespace skep::test {

inline std::uint64_t drawn_key(const std::string& name) { return derive_key(1, name); }

/// Multiples of 1/64 in [-2, 2) times `scale`, a power of two: the same numbers in every type.
inline Tensor drawn(const std::string& name, const Shape& shape, DType dtype, double scale = 1) {
  const std::uint64_t key = drawn_key(name);
  std::vector<double> values(shape.numel());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = (static_cast<double>(random_bits(key, i) >> 56) - 128) / 64 * scale;
  return converted(tensor_of(values, shape), dtype);
}

inline std::vector<std::int32_t> drawn_below(const std::string& name, std::int64_t below,
                                             std::int64_t count) {
  const std::uint64_t key = drawn_key(name);
  std::vector<std::int32_t> values(count);
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = static_cast<std::int32_t>(random_below(key, i, below));
  return values;
}

/// One in five without a loss; the first is the last class.
inline Tensor drawn_targets(const std::string& name, std::int64_t classes, const Shape& shape) {
  auto targets = drawn_below(name, classes, shape.numel());
  const auto ignored = drawn_below(name + ".ignored", 5, shape.numel());
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (ignored[i] == 0) targets[i] = -1;
  targets[0] = static_cast<std::int32_t>(classes - 1);
  return tensor_of(targets, shape);
}

/// |got - want| / max(|want|, floor); what is not a number gives infinity.
inline double relative(const double* got, const double* want, std::size_t n, double floor) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  if (difference == 0) return 0;
  const double error = std::sqrt(difference) / std::max(std::sqrt(size), floor);
  return std::isnan(error) ? INFINITY : error;
}

class OddShapes {
 public:
  explicit OddShapes(const std::string& folder)
      : file_(SafetensorsFile::open(folder + "/odd_shapes.safetensors")) {}

  double number(const std::string& name) const { return read<double>(name).at(0); }

  /// The worst relative error of any row of 24 (a head's), so that a single wrong row counts as
  /// much as in a tensor of its own. Rows smaller than the average are measured by the average:
  /// some are zero but for rounding. Of a tensor stored as a sample, the norm and the sampled rows
  /// count; each by itself, unless it is smaller than a thirty-second of the average.
  double error(const std::string& name, const Tensor& tensor) {
    const auto got = to_doubles(tensor), want = read<float>(name);
    compared_.insert(name);
    if (!file_.find(name + ".norm"))
      return got.size() == want.size()
                 ? worst_row(got, want, average_row(norm_of(want), want.size()))
                 : INFINITY;
    const double norm = number(name + ".norm");
    return std::max(
        std::abs(norm_of(got) - norm) / norm,
        worst_row(sampled(name, got, want.size() / row), want, average_row(norm, got.size()) / 32));
  }

  /// The stored tensors whose names begin so and that error() has not seen.
  std::vector<std::string> not_compared(const std::string& begin) const {
    std::vector<std::string> names;
    for (const StoredTensor& t : file_.tensors())
      if (t.name.starts_with(begin) && t.type == StoredType::f32 && !compared_.count(t.name))
        names.push_back(t.name);
    return names;
  }

 private:
  static constexpr std::size_t row = 24, tail_rows = 3;

  /// Rows from anywhere, then the last ones.
  static std::vector<double> sampled(const std::string& name, const std::vector<double>& all,
                                     std::size_t rows) {
    std::vector<double> sample;
    const auto add = [&](std::size_t begin) {
      sample.insert(sample.end(), all.begin() + begin, all.begin() + begin + row);
    };
    for (std::int32_t r : drawn_below(name + ".rows", all.size() / row, rows - tail_rows))
      add(r * row);
    for (std::size_t r = tail_rows; r > 0; --r) add(all.size() - r * row);
    return sample;
  }
  static double norm_of(const std::vector<double>& values) {
    double size = 0;
    for (double x : values) size += x * x;
    return std::sqrt(size);
  }
  static double average_row(double norm, std::size_t count) {
    return norm * std::sqrt(static_cast<double>(row) / static_cast<double>(count));
  }
  static double worst_row(const std::vector<double>& got, const std::vector<double>& want,
                          double floor) {
    double worst = 0;
    for (std::size_t i = 0; i < want.size(); i += row)
      worst = std::max(
          worst, relative(got.data() + i, want.data() + i, std::min(row, want.size() - i), floor));
    return worst;
  }
  template <class T>
  std::vector<double> read(const std::string& name) const {
    const StoredTensor* t = file_.find(name);
    check(t != nullptr, "the reference has no {}", name);
    std::vector<T> values(t->data.size() / sizeof(T));
    std::memcpy(values.data(), t->data.data(), t->data.size());
    return {values.begin(), values.end()};
  }

  SafetensorsFile file_;
  std::set<std::string> compared_;
};

}  // namespace skep::test
