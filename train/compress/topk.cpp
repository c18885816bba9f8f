#include "train/compress/topk.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/core/error.h"
#include "train/compress/codec.h"

namespace skep {
namespace {

class TopkCodec final : public Codec {
 public:
  TopkCodec(double density, std::unique_ptr<Codec> rest)
      : density_(density), rest_(std::move(rest)) {}
  std::string name() const override { return "topk_" + rest_->name(); }
  std::size_t bytes(std::size_t elements) const override {
    return topk_count(elements, density_) * sizeof(SparseEntry) + rest_->bytes(elements);
  }
  void encode(std::span<const float> values, std::span<std::byte> out) const override {
    const auto chosen = select_topk(values, topk_count(values.size(), density_));
    const std::size_t bytes = chosen.size() * sizeof(SparseEntry);
    if (bytes > 0) std::memcpy(out.data(), chosen.data(), bytes);
    std::vector<float> others(values.begin(), values.end());
    for (const SparseEntry& entry : chosen) others[entry.index] = 0;
    rest_->encode(others, out.subspan(bytes));
  }
  void decode(std::span<const std::byte> in, std::span<float> values) const override {
    const std::size_t k = topk_count(values.size(), density_), bytes = k * sizeof(SparseEntry);
    rest_->decode(in.subspan(bytes), values);
    for (std::size_t i = 0; i < k; ++i) {
      SparseEntry entry;
      std::memcpy(&entry, in.data() + i * sizeof entry, sizeof entry);
      values[entry.index] = entry.value;
    }
  }

 private:
  double density_;
  std::unique_ptr<Codec> rest_;
};

}  // namespace

std::size_t topk_count(std::size_t n, double density) {
  const double wanted = std::ceil(density * static_cast<double>(n));
  return std::min(n, std::max<std::size_t>(n > 0 ? 1 : 0, static_cast<std::size_t>(wanted)));
}

std::vector<SparseEntry> select_topk(std::span<const float> values, std::size_t k) {
  check(k >= 1 || values.empty(), "topk of {} elements: k must be at least 1", values.size());
  check(values.size() < (std::uint64_t{1} << 32), "topk of {} elements", values.size());
  k = std::min(k, values.size());
  std::vector<SparseEntry> chosen;
  if (k == 0) return chosen;
  std::vector<float> magnitudes(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) magnitudes[i] = std::abs(values[i]);
  std::nth_element(magnitudes.begin(), magnitudes.begin() + static_cast<std::ptrdiff_t>(k - 1),
                   magnitudes.end(), std::greater<>());
  const float threshold = magnitudes[k - 1];
  const auto above = [&](float v) { return std::abs(v) > threshold; };
  auto ties = k - static_cast<std::size_t>(std::count_if(values.begin(), values.end(), above));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool tie = std::abs(values[i]) == threshold && ties > 0;
    if (!tie && !above(values[i])) continue;
    chosen.push_back({static_cast<std::uint32_t>(i), values[i]});
    ties -= tie ? 1 : 0;
  }
  return chosen;
}

std::unique_ptr<Codec> make_topk_codec(double density, std::unique_ptr<Codec> rest) {
  return std::make_unique<TopkCodec>(density, std::move(rest));
}

}  // namespace skep
