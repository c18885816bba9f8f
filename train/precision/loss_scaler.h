#pragma once
// Loss scaling (Micikevicius et al., ICLR 2018): fp16 loses gradients below 6e-8 and overflows
// above 65504, so backward starts from a multiple of the loss and the update divides by it again.
// Dynamic: the multiple doubles after `growth_interval` updates without overflow and halves,
// skipping the step, when a gradient overflows. The summed gradients tell, so every rank of a group
// decides the same.
#include <cstdint>

#include "engine/core/archive.h"

namespace skep {

class LossScaler {
 public:
  enum class Kind { fixed, dynamic };
  enum class Gradients { finite, overflowed };
  struct Settings {
    Kind kind = Kind::fixed;
    double scale = 1;  ///< fixed, or where dynamic starts
    std::int64_t growth_interval = 2000;
    double min_scale = 1;
    double unit = 1;  ///< the settings' scale is of the mean loss: so many times this one
  };
  explicit LossScaler(const Settings& settings) : settings_(settings), scale_(settings.scale) {}

  double scale() const { return scale_; }
  /// A scale as the settings give it.
  double told(double scale) const { return scale * settings_.unit; }
  /// After each update that was due. Error(non_finite) when the scale would fall below the minimum.
  void look(Gradients found);
  /// Whether a gradient that is not finite is this scaler's business: it will try a smaller scale.
  bool handles_overflow() const { return settings_.kind == Kind::dynamic; }
  /// Whether a smaller scale is left to try.
  bool can_lower() const { return handles_overflow() && scale_ / 2 >= settings_.min_scale; }
  void archive(Archive& archive);

 private:
  Settings settings_;
  double scale_;
  std::int64_t clean_updates_ = 0;  // since the scale last changed
};

}  // namespace skep
