#include "mpi_comm/combine.h"

#include "mpi_comm/comm_error.h"

namespace skep {
namespace {

// Plain loops over restricted pointers: the compiler turns each into vector instructions.
template <class T, class Op>
void loop(T* __restrict into, const T* __restrict from, std::size_t count, Op op) {
  for (std::size_t i = 0; i < count; ++i) into[i] = op(into[i], from[i]);
}

template <class T>
void combine_as(Combine how, WireSpan into, WireView from) {
  T* const to = reinterpret_cast<T*>(into.data());
  const T* const other = reinterpret_cast<const T*>(from.data());
  // b != b is true for a NaN only; a NaN in a stays because b > a is false then.
  const auto keeps = [](T b) { return b != b; };
  switch (how) {
    case Combine::sum:
      return loop(to, other, into.count(), [](T a, T b) { return static_cast<T>(a + b); });
    case Combine::max:
      return loop(to, other, into.count(), [=](T a, T b) { return b > a || keeps(b) ? b : a; });
    case Combine::min:
      return loop(to, other, into.count(), [=](T a, T b) { return b < a || keeps(b) ? b : a; });
  }
}

}  // namespace

void combine(Combine how, WireSpan into, WireView from) {
  comm_check(into.type() == from.type() && into.count() == from.count(),
             "combine: {} {} elements cannot be combined with {} {} elements", into.count(),
             name_of(into.type()), from.count(), name_of(from.type()));
  switch (into.type()) {
    case WireType::f32:
      return combine_as<float>(how, into, from);
    case WireType::f64:
      return combine_as<double>(how, into, from);
    case WireType::i32:
      return combine_as<std::int32_t>(how, into, from);
    case WireType::i64:
      return combine_as<std::int64_t>(how, into, from);
    case WireType::u8:
      return combine_as<std::uint8_t>(how, into, from);
  }
}

}  // namespace skep
