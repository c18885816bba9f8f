#include "tests/engine/cudnn_interpreter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace skep::testing {
namespace {

using cuda::cudnn::Descriptor;
using cuda::cudnn::Graph;
using cuda::cudnn::Sizes;

Sizes four(const Descriptor& tensor, cudnnBackendAttributeName_t attribute) {
  const auto found = tensor.values<std::int64_t>(attribute, 8);
  check(found.size() == 4, "a tensor of {} dimensions", found.size());
  return {found[0], found[1], found[2], found[3]};
}

template <class T>
T only(const Descriptor& d, cudnnBackendAttributeName_t attribute) {
  const auto found = d.values<T>(attribute, 1);
  check(found.size() == 1, "attribute {} has {} values", static_cast<int>(attribute), found.size());
  return found[0];
}

Descriptor child(const Descriptor& d, cudnnBackendAttributeName_t attribute,
                 cudnnBackendDescriptorType_t kind) {
  auto found = d.children(attribute, kind);
  check(found.size() == 1, "attribute {} has {} descriptors", static_cast<int>(attribute),
        found.size());
  return std::move(found[0]);
}

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

CudnnInterpreter::Value CudnnInterpreter::value(const Descriptor& operation, Attribute attribute) {
  const Descriptor tensor = child(operation, attribute, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const auto name = tensor.integer(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  Value v{four(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS), four(tensor, CUDNN_ATTR_TENSOR_STRIDES),
          nullptr};
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

void CudnnInterpreter::pointwise(const Descriptor& op) {
  const Descriptor what =
      child(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  const auto mode = only<cudnnPointwiseMode_t>(what, CUDNN_ATTR_POINTWISE_MODE);
  const Value x = value(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  const Value y = value(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  const Sizes n = y.sizes;
  if (mode == CUDNN_POINTWISE_EXP || mode == CUDNN_POINTWISE_LOG) {
    const bool exp = mode == CUDNN_POINTWISE_EXP;
    return for_each(
        n, [&](const Sizes& i) { y.at(i, n) = exp ? std::exp(x.at(i, n)) : std::log(x.at(i, n)); });
  }
  if (mode == CUDNN_POINTWISE_GEN_INDEX) {
    const auto dimension = static_cast<std::size_t>(what.integer(CUDNN_ATTR_POINTWISE_AXIS));
    return for_each(n, [&](const Sizes& i) { y.at(i, n) = static_cast<double>(i.at(dimension)); });
  }
  const Value b = value(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  if (mode == CUDNN_POINTWISE_BINARY_SELECT) {
    const Value t = value(op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    return for_each(
        n, [&](const Sizes& i) { y.at(i, n) = t.at(i, n) != 0 ? x.at(i, n) : b.at(i, n); });
  }
  for_each(n, [&](const Sizes& i) { y.at(i, n) = combined(mode, x.at(i, n), b.at(i, n)); });
}

void CudnnInterpreter::matmul(const Descriptor& op) {
  const Value a = value(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
  const Value b = value(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
  const Value c = value(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
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

void CudnnInterpreter::reduce(const Descriptor& op) {
  const Descriptor what =
      child(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  const bool max =
      only<cudnnReduceTensorOp_t>(what, CUDNN_ATTR_REDUCTION_OPERATOR) == CUDNN_REDUCE_TENSOR_MAX;
  const Value x = value(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
  const Value y = value(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
  const double start = max ? -std::numeric_limits<double>::infinity() : 0;
  for_each(y.sizes, [&](const Sizes& i) { y.at(i, y.sizes) = start; });
  for_each(x.sizes, [&](const Sizes& i) {
    double& to = y.at(i, x.sizes);
    const double from = x.at(i, x.sizes);
    to = max ? std::max(to, from) : to + from;
  });
}

void CudnnInterpreter::reshape(const Descriptor& op) {
  const Value x = value(op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
  const Descriptor y =
      child(op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  bind(y.integer(CUDNN_ATTR_TENSOR_UNIQUE_ID), x.data);  // the same memory, looked at differently
}

void CudnnInterpreter::run(const Graph& graph) {
  for (const Descriptor& op : graph.operations()) switch (op.kind()) {
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
        fail(ErrorKind::bug, "operation {} is unknown here", static_cast<int>(op.kind()));
    }
}

}  // namespace skep::testing
