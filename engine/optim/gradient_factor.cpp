#include "engine/optim/gradient_factor.h"

#include "engine/kernels/launch.h"
#include "engine/kernels/math.h"
#include "engine/kernels/sum_of_squares.h"

namespace skep {
namespace {

struct NormAndFactor {
  double *norm, *factor;
  const double* squares;
  double count, max_norm;
  HD void operator()(std::int64_t) const {
    const double n = math::sqrt(*squares) / count;
    const bool finite = n - n == 0;
    const double clipped = n > max_norm ? max_norm / n : 1;
    *norm = n;
    *factor = finite ? clipped / count : 0;
  }
};

}  // namespace

GradientFactor gradient_factor(const Tensor& grads, double count, double max_norm) {
  check(count > 0, "gradient_factor: no tokens");
  const Tensor squares = sum_of_squares(grads);
  const Device device = grads.device();
  const GradientFactor made{empty({}, DType::f64, device), empty({}, DType::f64, device)};
  for_each_index(device, 1,
                 NormAndFactor{made.norm.data<double>(), made.factor.data<double>(),
                               squares.data<double>(), count, max_norm});
  return made;
}

}  // namespace skep
