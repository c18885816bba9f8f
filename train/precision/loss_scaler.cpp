#include "train/precision/loss_scaler.h"

#include "engine/core/error.h"

namespace skep {

void LossScaler::look(Gradients found) {
  if (settings_.kind == Kind::fixed) return;
  if (found == Gradients::finite) {
    if (++clean_updates_ < settings_.growth_interval) return;
    scale_ *= 2;
    clean_updates_ = 0;
    return;
  }
  clean_updates_ = 0;
  if (scale_ / 2 < settings_.min_scale)
    fail(ErrorKind::non_finite,
         "the gradient still overflows at a loss scale of {:g}, and precision.min_scale is {:g}",
         told(scale_), told(settings_.min_scale));
  scale_ /= 2;
}

void LossScaler::archive(Archive& archive) {
  archive.field("loss_scale", scale_);
  archive.field("clean_updates", clean_updates_);
}

}  // namespace skep
