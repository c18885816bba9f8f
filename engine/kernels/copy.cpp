#include "engine/kernels/copy.h"

namespace skep {
namespace {

struct Identity {
  template <class T>
  HD T operator()(T x) const {
    return x;
  }
};
struct Constant {
  double value;
  template <class T>
  HD T operator()(T) const {
    return static_cast<T>(value);
  }
};

// Between types, or for integers: a plain strided loop on the CPU.
template <class To, class From>
void convert(const Tensor& out, const Tensor& from) {
  const LoopNest<2> nest = loop_nest<2>(out.shape(), {&out, &from});
  To* to = out.data<To>();
  const From* source = from.data<From>();
  const std::int64_t n = nest.size[nest.rank - 1];
  const std::int64_t step_to = nest.stride[0][nest.rank - 1],
                     step_from = nest.stride[1][nest.rank - 1];
  const auto one = [](const From& x) { return static_cast<To>(static_cast<Compute<To>>(x)); };
  for_each_inner_loop(nest, [&](const std::array<std::int64_t, 2>& at) {
    To* t = to + at[0];
    const From* f = source + at[1];
    if (step_to == 1 && step_from == 1) {  // the usual case, spelled out: it vectorises
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i) t[i] = one(f[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) t[i * step_to] = one(f[i * step_from]);
    }
  });
}

void copy_int32(const Tensor& out, const Tensor& from) {
  check(out.dtype() == from.dtype(), "copy: int32 does not convert to {}",
        name_of(out.dtype() == DType::i32 ? from.dtype() : out.dtype()));
  const LoopNest<2> nest = loop_nest<2>(out.shape(), {&out, &from});
  auto* to = out.data<std::int32_t>();
  const auto* source = from.data<std::int32_t>();
  for_each_inner_loop(nest, [&](const std::array<std::int64_t, 2>& at) {
    for (std::int64_t i = 0; i < nest.size[nest.rank - 1]; ++i)
      to[at[0] + i * nest.stride[0][nest.rank - 1]] =
          source[at[1] + i * nest.stride[1][nest.rank - 1]];
  });
}

}  // namespace

void fill(const Tensor& out, double value) {
  if (out.numel() == 0) return;
  if (value == 0 && out.is_contiguous() && out.device().kind == Device::Kind::cpu) {
    std::memset(out.raw(), 0, out.bytes());
    out.storage()->bump_version();
    return;
  }
  elementwise({out}, Constant{value}, out);
}

void copy(const Tensor& out, const Tensor& from) {
  if (out.dtype() == DType::i32 || from.dtype() == DType::i32) {
    copy_int32(out, from);
  } else if (out.dtype() == from.dtype()) {
    elementwise({out}, Identity{}, from);
    return;
  } else {
    with_float(out.dtype(), [&](auto to) {
      with_float(from.dtype(),
                 [&](auto source) { convert<decltype(to), decltype(source)>(out, from); });
    });
  }
  out.storage()->bump_version();
}

void add_into(const Destination& out, const Tensor& from) { elementwise(out, Identity{}, from); }

Tensor contiguous(const Tensor& t) {
  if (t.is_contiguous()) return t;
  Tensor out = empty_like(t);
  copy(out, t);
  return out;
}

Tensor converted(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  Tensor out = empty(t.shape(), dtype, t.device());
  copy(out, t);
  return out;
}

Tensor zeros(const Shape& shape, DType dtype, Device device) {
  Tensor out = empty(shape, dtype, device);
  if (dtype == DType::i32) {
    std::memset(out.raw(), 0, out.bytes());
  } else {
    fill(out, 0);
  }
  return out;
}

}  // namespace skep
