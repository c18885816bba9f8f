#pragma once
// What the engine's tests share: random tensors in every layout, error measures, and a way to send
// chosen gradients into the outputs of a function.
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/autograd/tape.h"
#include "engine/backends/transfer.h"
#include "engine/core/random.h"
#include "engine/kernels/copy.h"
#include "engine/ops/parity.h"

namespace skep::testing {

using skep::relative_error;

inline constexpr DType float_types[] = {DType::f64, DType::f32, DType::bf16, DType::f16};

/// Over the elements.
inline double relative_error(const Tensor& got, const Tensor& want) {
  return got.shape() == want.shape() ? relative_error(to_doubles(got), to_doubles(want)) : INFINITY;
}
/// max |got - want|.
inline double largest_error(const Values& got, const Values& want) {
  if (got.size() != want.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - want[i]);
    if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
  }
  return worst;
}

/// The message of the skep::Error that `f` throws; empty if it throws none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Ways to lay the same elements out in memory.
enum class Layout { contiguous, reversed, sliced, every_second };
inline constexpr Layout strided_layouts[] = {Layout::reversed, Layout::sliced,
                                             Layout::every_second};

/// A view that holds the elements of `t` under other strides.
inline Tensor laid_out(const Tensor& t, Layout layout) {
  if (!t.defined() || layout == Layout::contiguous || (t.rank() == 0 && layout != Layout::sliced))
    return t;
  Shape shape;
  const int rank = t.rank();
  Tensor view;
  if (layout == Layout::reversed) {  // the first dimension is adjacent in memory
    for (int i = rank - 1; i >= 0; --i) shape.push_back(t.size(i));
    view = zeros(shape, t.dtype(), t.device());
    for (int i = 0; i < rank / 2; ++i) view = view.transposed(i, rank - 1 - i);
  } else if (layout == Layout::sliced) {  // surrounded by other elements in every dimension
    for (std::int64_t n : t.shape()) shape.push_back(n + 3);
    view = zeros(shape, t.dtype(), t.device());
    for (int i = 0; i < rank; ++i) view = view.sliced(i, 1, t.size(i));
  } else {  // no dimension is adjacent
    shape = t.shape();
    shape[-1] *= 2;
    view = zeros(shape, t.dtype(), t.device());
    Strides strides = view.strides();
    strides[-1] = 2;
    view = view.with_layout(t.shape(), strides, 0);
  }
  copy(view, t);
  return view;
}

/// As run_both_ways, with the output gradients laid out as `layout`.
inline Outcome run(const Function& function, const std::vector<Tensor>& inputs,
                   Layout layout = Layout::contiguous) {
  return run_both_ways(function, inputs, [&](const Tensor& t) { return laid_out(t, layout); });
}

}  // namespace skep::testing
