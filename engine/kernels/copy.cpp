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

struct Zero {
  std::int32_t* out;
  HD void operator()(std::int64_t i) const { out[i] = 0; }
};

// Between types, or for integers.
template <class To, class From>
struct Convert {
  To* to;
  const From* from;
  LoopNest<2> nest;

  HD static To one(const From& x) { return static_cast<To>(static_cast<Compute<To>>(x)); }
  HD void operator()(std::int64_t i) const {
    std::int64_t at_to = 0, at_from = 0;
    for (int d = nest.rank - 1; d >= 0; --d) {
      at_to += i % nest.size[d] * nest.stride[0][d];
      at_from += i % nest.size[d] * nest.stride[1][d];
      i /= nest.size[d];
    }
    to[at_to] = one(from[at_from]);
  }
};
template <>
HD std::int32_t Convert<std::int32_t, std::int32_t>::one(const std::int32_t& x) {
  return x;
}

template <class To, class From>
void convert_on_cpu(const Convert<To, From>& work) {
  const LoopNest<2>& nest = work.nest;
  const std::int64_t n = nest.size[nest.rank - 1];
  const std::int64_t step_to = nest.stride[0][nest.rank - 1],
                     step_from = nest.stride[1][nest.rank - 1];
  for_each_inner_loop(nest, [&](const std::array<std::int64_t, 2>& at) {
    To* t = work.to + at[0];
    const From* f = work.from + at[1];
    if (step_to == 1 && step_from == 1) {  // the usual case, spelled out: it vectorises
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i) t[i] = work.one(f[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) t[i * step_to] = work.one(f[i * step_from]);
    }
  });
}

template <class To, class From>
void convert(const Tensor& out, const Tensor& from) {
  const Convert<To, From> work{out.data<To>(), from.data<From>(),
                               loop_nest<2>(out.shape(), {&out, &from})};
  if (out.device().kind == Device::Kind::cpu) {
    convert_on_cpu(work);
  } else {
    for_each_index(out.device(), work.nest.numel(), work);
  }
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
  check(out.device() == from.device(), "copy: one tensor is on the CPU, the other on a GPU");
  if (out.dtype() == DType::i32 || from.dtype() == DType::i32) {
    check(out.dtype() == from.dtype(), "copy: int32 does not convert to {}",
          name_of(out.dtype() == DType::i32 ? from.dtype() : out.dtype()));
    convert<std::int32_t, std::int32_t>(out, from);
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
    for_each_index(device, out.numel(), Zero{out.data<std::int32_t>()});
  } else {
    fill(out, 0);
  }
  return out;
}

}  // namespace skep
