#include "tests/engine/cudnn_interpreter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace skep::testing {
namespace {

using cuda::cudnn::Graph;
using cuda::cudnn::Sizes;

template <class F>
void for_each(const Sizes& n, F&& f) {
  Sizes i;
  for (i[0] = 0; i[0] < n[0]; ++i[0])
    for (i[1] = 0; i[1] < n[1]; ++i[1])
      for (i[2] = 0; i[2] < n[2]; ++i[2])
        for (i[3] = 0; i[3] < n[3]; ++i[3]) f(i);
}

double combined(cudnnPointwiseMode_t mode, double x, double b) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x + b;
    case CUDNN_POINTWISE_SUB:
      return x - b;
    case CUDNN_POINTWISE_MUL:
      return x * b;
    case CUDNN_POINTWISE_DIV:
      return x / b;
    case CUDNN_POINTWISE_CMP_GE:
      return x >= b;
    default:
      fail(ErrorKind::bug, "pointwise mode {} is unknown here", static_cast<int>(mode));
  }
}

}  // namespace

double& CudnnInterpreter::Value::at(const Sizes& index, const Sizes& range) const {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < 4; ++d) offset += index[d] * sizes[d] / range[d] * strides[d];
  return data[offset];
}

CudnnInterpreter::Value CudnnInterpreter::value(const Graph::Value& given) {
  const std::int64_t name = given.name;
  Value v{given.sizes, given.strides, nullptr};
  if (const auto found = bound_.find(name); found != bound_.end()) {
    v.data = found->second;
    return v;
  }
  auto& room = stored_[name];
  std::int64_t last = 0;
  for (std::size_t d = 0; d < 4; ++d) last += (v.sizes[d] - 1) * v.strides[d];
  room.resize(static_cast<std::size_t>(last + 1), std::numeric_limits<double>::quiet_NaN());
  v.data = room.data();
  return v;
}

void CudnnInterpreter::pointwise(const Graph::Told& op) {
  const auto mode = static_cast<cudnnPointwiseMode_t>(op.mode);
  const Value x = value(op.values[0]);
  const Value y = value(op.values[1]);
  const Sizes n = y.sizes;
  if (mode == CUDNN_POINTWISE_EXP || mode == CUDNN_POINTWISE_LOG) {
    const bool exp = mode == CUDNN_POINTWISE_EXP;
    return for_each(
        n, [&](const Sizes& i) { y.at(i, n) = exp ? std::exp(x.at(i, n)) : std::log(x.at(i, n)); });
  }
  if (mode == CUDNN_POINTWISE_GEN_INDEX) {
    const auto dimension = static_cast<std::size_t>(op.dimension);
    return for_each(n, [&](const Sizes& i) { y.at(i, n) = static_cast<double>(i.at(dimension)); });
  }
  const Value b = value(op.values.at(2));
  if (mode == CUDNN_POINTWISE_BINARY_SELECT) {
    const Value t = value(op.values.at(3));
    return for_each(
        n, [&](const Sizes& i) { y.at(i, n) = t.at(i, n) != 0 ? x.at(i, n) : b.at(i, n); });
  }
  for_each(n, [&](const Sizes& i) { y.at(i, n) = combined(mode, x.at(i, n), b.at(i, n)); });
}

void CudnnInterpreter::matmul(const Graph::Told& op) {
  const Value a = value(op.values.at(0));
  const Value b = value(op.values.at(1));
  const Value c = value(op.values.at(2));
  const auto [batch, heads, rows, columns] = c.sizes;
  const std::int64_t inner = a.sizes[3];
  const Sizes left{batch, heads, rows, inner}, right{batch, heads, inner, columns};
  for_each(c.sizes, [&](const Sizes& i) {
    double sum = 0;
    for (std::int64_t k = 0; k < inner; ++k)
      sum += a.at({i[0], i[1], i[2], k}, left) * b.at({i[0], i[1], k, i[3]}, right);
    c.at(i, c.sizes) = sum;
  });
}

void CudnnInterpreter::reduce(const Graph::Told& op) {
  const bool max = op.mode == CUDNN_REDUCE_TENSOR_MAX;
  const Value x = value(op.values[0]);
  const Value y = value(op.values[1]);
  const double start = max ? -std::numeric_limits<double>::infinity() : 0;
  for_each(y.sizes, [&](const Sizes& i) { y.at(i, y.sizes) = start; });
  for_each(x.sizes, [&](const Sizes& i) {
    double& to = y.at(i, x.sizes);
    const double from = x.at(i, x.sizes);
    to = max ? std::max(to, from) : to + from;
  });
}

// The same memory, looked at differently.
void CudnnInterpreter::reshape(const Graph::Told& op) {
  bind(op.values[1].name, value(op.values[0]).data);
}

void CudnnInterpreter::run(const Graph& graph) {
  for (std::size_t i = 0; i < graph.operations().size(); ++i) {
    const Graph::Told& op = graph.told(i);
    switch (graph.operations()[i].kind()) {
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        pointwise(op);
        break;
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        matmul(op);
        break;
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        reduce(op);
        break;
      case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        reshape(op);
        break;
      default:
        fail(ErrorKind::bug, "operation {} is unknown here",
             static_cast<int>(graph.operations()[i].kind()));
    }
  }
}

}  // namespace skep::testing
