#include "model/initializers.h"

#include "engine/core/random.h"

namespace skep {

void initialize(const Tensor& parameter, const Init& init, std::uint64_t seed,
                std::string_view path) {
  const std::uint64_t key = derive_key(seed, path);
  const std::int64_t row = parameter.rank() > 1 ? parameter.numel() / parameter.size(0) : 1;
  with_float(parameter.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = parameter.data<T>();
    for (std::int64_t i = 0; i < parameter.numel(); ++i) {
      const double x =
          init.kind == Init::Kind::normal ? init.value * random_normal(key, i) : init.value;
      out[i] = static_cast<T>(static_cast<Compute<T>>(i / row < init.rows ? x : 0.0));
    }
  });
}

}  // namespace skep
