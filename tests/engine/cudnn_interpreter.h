#pragma once
// Computes in double what a graph for cuDNN says: where no GPU is, this shows that the graph means
// attention. Rounding to the types of the graph is left out.
#include <map>
#include <vector>

#include "engine/backends/cuda/library/cudnn_graph.h"

namespace skep::testing {

class CudnnInterpreter {
 public:
  /// Memory or scalar of a name in the graph, laid out by the strides that the graph gives it.
  void bind(std::int64_t name, double* data) { bound_[name] = data; }
  void run(const cuda::cudnn::Graph& graph);

 private:
  struct Value {
    cuda::cudnn::Sizes sizes, strides;
    double* data;
    // A dimension that is smaller than the index asks for is repeated: size 1 for all, heads in
    // groups of neighbours.
    double& at(const cuda::cudnn::Sizes& index, const cuda::cudnn::Sizes& range) const;
  };

  Value value(const cuda::cudnn::Graph::Value& given);
  void pointwise(const cuda::cudnn::Graph::Told& op);
  void matmul(const cuda::cudnn::Graph::Told& op);
  void reduce(const cuda::cudnn::Graph::Told& op);
  void reshape(const cuda::cudnn::Graph::Told& op);

  std::map<std::int64_t, double*> bound_;
  std::map<std::int64_t, std::vector<double>> stored_;  // virtual values
};

}  // namespace skep::testing
