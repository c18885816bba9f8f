#include "engine/backends/cuda/library/cudnn_graph.h"

#include <algorithm>
#include <utility>

namespace skep::cuda::cudnn {

cudnnDataType_t data_type(DType t) {
  switch (t) {
    case DType::f32:
      return CUDNN_DATA_FLOAT;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
    case DType::f64:
      return CUDNN_DATA_DOUBLE;
    case DType::i32:
      return CUDNN_DATA_INT32;
  }
  fail(ErrorKind::bug, "cuDNN has no name for {}", name_of(t));
}

Sizes packed_strides(const Sizes& n) { return {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1}; }

Layout Layout::transposed() const {
  Layout t = *this;
  std::swap(t.sizes[2], t.sizes[3]);
  std::swap(t.strides[2], t.strides[3]);
  return t;
}

Graph::Value Graph::make_value(std::int64_t name, const Layout& layout, cudnnDataType_t type,
                               bool is_virtual, bool by_value) {
  constexpr std::int64_t alignment = 16;  // bytes: what 128-bit loads need
  Descriptor& d = kept_.emplace_back(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
      .set_values<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, layout.sizes)
      .set_values<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES, layout.strides)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, name)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment)
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual)
      .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, by_value)
      .finalize("tensor");
  return {d.get(), layout.sizes, layout.strides, name};
}

Graph::Value Graph::tensor(std::int64_t name, const Layout& layout) {
  return make_value(name, layout, data_type(layout.dtype), false, false);
}
Graph::Value Graph::scalar(std::int64_t name, cudnnDataType_t type) {
  return make_value(name, {{1, 1, 1, 1}, {1, 1, 1, 1}}, type, false, true);
}
Graph::Value Graph::virtual_value(const Sizes& sizes, cudnnDataType_t type) {
  return make_value(next_virtual_++, {sizes, packed_strides(sizes)}, type, true, false);
}
Graph::Value Graph::virtual_value(const Layout& layout) {
  return make_value(next_virtual_++, layout, data_type(layout.dtype), true, false);
}

Descriptor& Graph::operation(cudnnBackendDescriptorType_t kind, const Told& told) {
  told_.push_back(told);
  return operations_.emplace_back(kind);
}

void Graph::pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t math, std::int64_t dimension,
                      const Value& x, const Value* b, const Value* t, const Value& y) {
  Descriptor& what = kept_.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  what.set(CUDNN_ATTR_POINTWISE_MODE, mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, math);
  if (dimension >= 0) what.set(CUDNN_ATTR_POINTWISE_AXIS, dimension);
  what.finalize("pointwise");
  std::vector<Value> values{x, y};
  for (const Value* more : {b, t})
    if (more) values.push_back(*more);
  Descriptor& op =
      operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, {mode, dimension, values});
  op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what.get())
      .set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor)
      .set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y.descriptor);
  if (b) op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b->descriptor);
  if (t) op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t->descriptor);
  op.finalize("pointwise operation");
}

Graph::Value Graph::pointwise(cudnnPointwiseMode_t mode, const Value& x) {
  const Value y = virtual_value(x.sizes, CUDNN_DATA_FLOAT);
  pointwise(mode, CUDNN_DATA_FLOAT, -1, x, nullptr, nullptr, y);
  return y;
}
Graph::Value Graph::pointwise(cudnnPointwiseMode_t mode, const Value& x, const Value& b) {
  const Value y = virtual_value(x.sizes, CUDNN_DATA_FLOAT);
  pointwise(mode, x, b, y);
  return y;
}
void Graph::pointwise(cudnnPointwiseMode_t mode, const Value& x, const Value& b, const Value& y,
                      cudnnDataType_t math) {
  pointwise(mode, math, -1, x, &b, nullptr, y);
}
Graph::Value Graph::select(const Value& keep, const Value& x, const Value& b) {
  const Value y = virtual_value(x.sizes, CUDNN_DATA_FLOAT);
  pointwise(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, -1, x, &b, &keep, y);
  return y;
}
Graph::Value Graph::index(const Value& like, std::int64_t dimension) {
  const Value y = virtual_value(like.sizes, CUDNN_DATA_INT32);
  pointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, dimension, like, nullptr, nullptr, y);
  return y;
}

void Graph::matmul(const Value& a, const Value& b, const Value& c) {
  Descriptor& what = kept_.emplace_back(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  what.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT).finalize("matmul");
  operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, {0, -1, {a, b, c}})
      .set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_DESC, what.get())
      .set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor)
      .set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor)
      .set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c.descriptor)
      .finalize("matmul operation");
}
Graph::Value Graph::matmul(const Value& a, const Value& b) {
  const Value c = virtual_value({a.sizes[0], a.sizes[1], a.sizes[2], b.sizes[3]}, CUDNN_DATA_FLOAT);
  matmul(a, b, c);
  return c;
}

void Graph::reduce(cudnnReduceTensorOp_t operator_, const Value& x, const Value& y) {
  Descriptor& what = kept_.emplace_back(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  what.set(CUDNN_ATTR_REDUCTION_OPERATOR, operator_)
      .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .finalize("reduction");
  operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, {operator_, -1, {x, y}})
      .set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_DESC, what.get())
      .set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor)
      .set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y.descriptor)
      .finalize("reduction operation");
}
Graph::Value Graph::reduce_rows(cudnnReduceTensorOp_t operator_, const Value& x) {
  const Value y = virtual_value({x.sizes[0], x.sizes[1], x.sizes[2], 1}, CUDNN_DATA_FLOAT);
  reduce(operator_, x, y);
  return y;
}

void Graph::reshape(const Value& x, const Value& y) {
  operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, {0, -1, {x, y}})
      .set_descriptor(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor)
      .set_descriptor(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y.descriptor)
      .finalize("reshape operation");
}

Descriptor Graph::finished(cudnnHandle_t handle) const {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const Descriptor& d : operations_) operations.push_back(d.get());
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set_descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph.finalize("operation graph");
  return graph;
}

}  // namespace skep::cuda::cudnn
