#pragma once
// Operations of cuDNN's graph API, joined into a graph, and the ways a device has of running it.
// Values between operations are virtual: cuDNN fuses what lies between two of them and never stores
// them. The same code serves a device at hand and one that is only described, so that graphs can be
// checked where no GPU is.
#include <array>
#include <compare>
#include <string>

#include "engine/backends/cuda/library/cudnn_descriptors.h"
#include "engine/core/dtype.h"

namespace skep::cuda::cudnn {

using Sizes = std::array<std::int64_t, 4>;

cudnnDataType_t data_type(DType t);
/// Strides of a tensor without gaps.
Sizes packed_strides(const Sizes& sizes);

/// How four dimensions lie in memory.
struct Layout {
  Sizes sizes{}, strides{};
  DType dtype = DType::f32;
  auto operator<=>(const Layout&) const = default;

  /// The last two dimensions exchanged.
  Layout transposed() const;
};

class Graph {
 public:
  /// Something that operations read and write; belongs to the graph.
  struct Value {
    cudnnBackendDescriptor_t descriptor;
    Sizes sizes, strides;
    std::int64_t name;
  };

  /// A tensor in the device's memory, named by a number for Plan::run.
  Value tensor(std::int64_t name, const Layout& layout);
  /// One number that lies with the host and is read when the plan runs.
  Value scalar(std::int64_t name, cudnnDataType_t type);
  /// A value that only other operations see.
  Value virtual_value(const Sizes& sizes, cudnnDataType_t type);
  Value virtual_value(const Layout& layout);

  // Operations write into a value given, or make a virtual one of fp32.
  Value pointwise(cudnnPointwiseMode_t mode, const Value& x);
  Value pointwise(cudnnPointwiseMode_t mode, const Value& x, const Value& b);
  void pointwise(cudnnPointwiseMode_t mode, const Value& x, const Value& b, const Value& y,
                 cudnnDataType_t math = CUDNN_DATA_FLOAT);
  /// keep ? x : b.
  Value select(const Value& keep, const Value& x, const Value& b);
  /// Each element's place along a dimension, int32.
  Value index(const Value& like, std::int64_t dimension);
  void matmul(const Value& a, const Value& b, const Value& c);
  Value matmul(const Value& a, const Value& b);
  /// Over the dimensions in which y has size 1 or, for groups of heads, fewer than x.
  void reduce(cudnnReduceTensorOp_t operation, const Value& x, const Value& y);
  Value reduce_rows(cudnnReduceTensorOp_t operation, const Value& x);
  /// Another way to look at the same elements.
  void reshape(const Value& x, const Value& y);

  /// In the order in which they were added.
  const std::vector<Descriptor>& operations() const { return operations_; }
  /// An operation as it was asked for; cuDNN gives hardly any of it back.
  struct Told {
    std::int64_t mode;          ///< of pointwise and reduce
    std::int64_t dimension;     ///< of index, else -1
    std::vector<Value> values;  ///< pointwise x, y, b, t; matmul a, b, c; others x, y
  };
  const Told& told(std::size_t operation) const { return told_.at(operation); }
  /// The finished graph; this object must outlive it. The handle may be null.
  Descriptor finished(cudnnHandle_t handle) const;

 private:
  Value make_value(std::int64_t name, const Layout& layout, cudnnDataType_t type, bool is_virtual,
                   bool by_value);
  void pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t math, std::int64_t dimension,
                 const Value& x, const Value* b, const Value* t, const Value& y);
  Descriptor& operation(cudnnBackendDescriptorType_t kind, const Told& told);

  std::vector<Descriptor> kept_;  // tensors, and what operations are told to do
  std::vector<Descriptor> operations_;
  std::vector<Told> told_;            // by operation
  std::int64_t next_virtual_ = 1000;  // above all names
};

/// Where a graph is to run: the device of a handle, or one that is only described.
struct Target {
  cudnnHandle_t handle = nullptr;
  const Descriptor* properties = nullptr;
};

/// A device described by JSON, as cuDNN itself writes it.
Descriptor device_properties(const std::string& json);

/// Ways to run a finished graph, what cuDNN holds for fastest first. Empty when there is none.
std::vector<Descriptor> configurations(const Descriptor& finished_graph, const Target& target);

/// How many ways a described device has of running the graph; throws when the graph is ill-formed.
int count_configurations(const Graph& graph, const std::string& device_properties_json);

/// A pointer for a tensor (device memory) or scalar (host memory) of the graph.
struct Binding {
  std::int64_t name;
  void* data;
};

/// A graph made ready for one device.
class Plan {
 public:
  /// The first configuration that can be built; throws Error(bug) when none can.
  Plan(const Graph& graph, cudnnHandle_t handle);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// On the handle's stream; the host waits for nothing.
  void run(cudnnHandle_t handle, std::span<const Binding> bindings, void* workspace) const;

 private:
  Descriptor plan_;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace skep::cuda::cudnn
